package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lives reports whether a process runs; one that has ended and that nobody has
// collected does not.
func lives(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// A runner that is killed takes its tree along, as soon as the tree is there.
func TestKilledRunner(t *testing.T) {
	for _, flags := range [][]string{nil, {"--jsonl", filepath.Join(t.TempDir(), "ev")}} {
		q := newQuarters(t)
		cmd := q.command(append(append([]string{"run"}, flags...), "--", "sh", "-c",
			`sleep 300 & a=$!; setsid sh -c 'sleep 300 & echo $! $$; wait' & echo $a $$; wait`)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var tree [4]int
		r := bufio.NewReader(out)
		for i := range 2 {
			line, _ := r.ReadString('\n')
			if n, err := fmt.Sscan(line, &tree[2*i], &tree[2*i+1]); n != 2 {
				t.Fatalf("%q: %v", line, err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		for _, pid := range tree {
			for deadline := time.Now().Add(30 * time.Second); lives(pid); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("process %d of %v outlives its runner", pid, tree)
				}
			}
		}
		if err := q.command("prune").Run(); err != nil {
			t.Error(err)
		}
	}
}
