package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A run in which nothing happens costs nothing: neither the runner nor its
// guardian wakes up.
func TestIdleRun(t *testing.T) {
	const quiet, limit = 2 * time.Second, 2 * time.Minute
	q := newQuarters(t)
	cmd := q.command("run", "--run-id", "idle", "--", "sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		q.verb("kill", "--run-id", "idle")
		_ = cmd.Wait() // with 109
	}()
	q.listed("idle")
	// The beginning is lively: helpers start, and the runtime gives memory back. It
	// ends on its own, so what is wanted is one quiet time, and not the first.
	for deadline := time.Now().Add(limit); ; {
		before := q.wakeups(cmd.Process.Pid)
		time.Sleep(quiet)
		if after := q.wakeups(cmd.Process.Pid); len(after) == len(before) && total(after) == total(before) {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("no %v without a wakeup within %v: at last %v, then %v", quiet, limit, before, after)
		}
	}
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// wakeups counts, for each thread of a runner and of its helpers, how often it
// went to sleep.
func (q quarters) wakeups(runner int) map[string]int {
	q.t.Helper()
	counts := map[string]int{}
	for _, pid := range append(q.helpers(), runner) {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil || len(files) == 0 {
			q.t.Fatalf("no thread of %d: %v", pid, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				continue // ended meanwhile
			}
			for line := range strings.Lines(string(text)) {
				var n int
				if rest, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
					if _, err := fmt.Sscan(rest, &n); err != nil {
						q.t.Fatal(err)
					}
					counts[f] = n
				}
			}
		}
	}
	return counts
}
