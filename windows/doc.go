// Package windows states raw facts of the Windows kernel, typed and without
// cgo: Job Objects, their completion port, processes born inside a job, process
// identity by creation time, and pipes whose one end has deadlines. It decides
// nothing.
//
// Needs Windows 10 or Server 2016, as Go itself does. Command lines,
// environment blocks and the look-up of programs are pure text, so they are
// tested on every system. The package is importable, but not covered by
// semantic versioning.
package windows
