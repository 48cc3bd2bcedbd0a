//go:build linux || darwin || windows

package sys

// noEvidence is that of a tree without limits, where nobody counts.
var noEvidence = LimitEvidence{Memory: NotTripped, Tasks: NotTripped, CPUs: NotTripped, MemoryKills: -1}

// someLimits are what a probe asks for.
var someLimits = Limits{MemoryBytes: 64 << 20, Tasks: 64, CPUs: 0.5}
