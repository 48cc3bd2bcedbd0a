package systest

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// leakLimit bounds the wait for what is on its way out.
const leakLimit = 5 * time.Second

// leaks lists what the tests left behind.
func leaks(filesBefore map[string]int) []string {
	var found []string
	for deadline := time.Now().Add(leakLimit); ; rest(5 * time.Millisecond) {
		found = append(goroutines(), fileLeaks(filesBefore)...)
		found = append(found, childLeaks()...)
		found = append(found, groupLeaks()...)
		if len(found) == 0 || time.Now().After(deadline) {
			return found
		}
	}
}

// goroutines lists those that are neither the tests' own nor the runtime's.
func goroutines() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for _, g := range strings.Split(string(buf), "\n\n") {
		if !strings.Contains(g, "systest.leaks(") && !strings.Contains(g, "os/signal.loop") {
			out = append(out, "goroutine: "+g)
		}
	}
	return out
}

func fileLeaks(before map[string]int) []string {
	var out []string
	for name, n := range openFiles() {
		if n > before[name] {
			out = append(out, fmt.Sprintf("descriptor: %s (%d, before the tests %d)", name, n, before[name]))
		}
	}
	return out
}
