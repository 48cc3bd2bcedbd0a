package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// cpuOf is the time on a processor of all threads of a process, in nanoseconds,
// as /proc/pid/task/tid/schedstat counts it; 0 if it is gone or not counted.
func cpuOf(pid int) (sum time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is well formed
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		var ns int64
		if _, err := fmt.Sscan(string(text), &ns); err == nil {
			sum += time.Duration(ns)
		}
	}
	return sum
}

// statusOf reads numbers from /proc/pid/status, in the unit given there.
func statusOf(pid int) map[string]int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	return fields(string(text))
}

// switchesOf is how often the threads of a process have given up the processor.
func switchesOf(pid int) (n int64) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid)) // the pattern is well formed
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		n += fields(string(text))["voluntary_ctxt_switches"]
	}
	return n
}
