// Package runner runs one command inside a contained process tree, in the
// foreground or detached, and tells what happened as a stream of events.
//
// [Run] starts the command, copies or captures what it says, keeps the clocks,
// serves the control endpoint and ends with the command's own exit code or
// with one of a closed band ([ExitSpawn] and so on). Every line of the stream
// is one [Event]; [Schema] is its published JSON Schema and [Validate] checks a
// line against it.
//
// The tree is started and ended by package job: nothing here signals a process.
package runner
