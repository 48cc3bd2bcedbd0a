package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A runner is killed again and again, each time under the same run id, in the
// foreground and detached: its tree goes, the list says so at once, who waits is
// told, and prune leaves nothing of it.
func TestTreeOfKilledRunner(t *testing.T) {
	q := newQuarters(t)
	var longest time.Duration
	for i := range rounds(t, 200) {
		longest = max(longest, q.killRound(i%2 == 1))
		if t.Failed() {
			t.Fatalf("in round %d", i)
		}
	}
	t.Logf("the last member of a tree was gone within %v at most", longest)
}

// threeOfThem is a tree of three, one of them in a session of its own, that
// writes its numbers to the file that is its first argument.
const threeOfThem = `sleep 300 & a=$!; setsid sleep 300 & b=$!; echo $$ $a $b >"$0.new"; mv "$0.new" "$0"; wait`

func (q quarters) killRound(detached bool) time.Duration {
	t := q.t
	t.Helper()
	file := filepath.Join(t.TempDir(), "tree")
	args := []string{"run", "--run-id", "again"}
	if detached {
		args = append(args, "--detach")
	}
	cmd := q.command(append(args, "--", "sh", "-c", threeOfThem, file)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var tree [3]int
	awaited(t, "the tree's numbers", func() bool {
		text, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		_, err = fmt.Sscan(string(text), &tree[0], &tree[1], &tree[2])
		return err == nil
	})
	runner := cmd.Process.Pid
	if detached {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		runner = q.runnerOf("again")
	}
	p, err := os.FindProcess(runner)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if detached {
		// It is nobody's child here. Its files are held by its last thread, and the
		// first may be a zombie before.
		awaited(t, "the runner's end", func() bool {
			threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", runner))
			return !lives(runner) && len(threads) <= 1
		})
	} else {
		_ = cmd.Wait() // it was killed
	}
	p.Release()

	var listed struct{ Health, Endpoint string }
	if err := json.Unmarshal([]byte(q.verb("list", "--json")), &listed); err != nil || listed.Health != "stale" {
		t.Errorf("the list says %+v, %v", listed, err)
	}
	q.verb("wait", "--run-id", "again")
	for _, pid := range tree {
		awaited(t, fmt.Sprintf("the end of %d of %v", pid, tree), func() bool { return !lives(pid) })
	}
	took := time.Since(killed)
	// It says so when it was faster than a guardian, so stderr is not looked at.
	if out, err := q.command("prune", "--json").Output(); err != nil || !strings.HasPrefix(string(out), `{"pruned":1,"live":0,`) {
		t.Errorf("prune: %s %v", out, err)
	}
	if names := q.left(); len(names) > 0 {
		t.Errorf("left in the registry: %v", names)
	}
	if _, err := os.Stat(filepath.Dir(listed.Endpoint)); !os.IsNotExist(err) {
		t.Errorf("left of the socket: %s, %v", listed.Endpoint, err)
	}
	awaited(t, "the end of the container's record", func() bool { return len(q.containers()) == 0 })
	return took
}

// runnerOf finds the process of a detached run, whose launcher has ended.
func (q quarters) runnerOf(id string) int {
	q.t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if strings.Contains(string(line), "\x00--run-id\x00"+id+"\x00") && strings.Contains(string(env), q.env[0]) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			return pid
		}
	}
	q.t.Fatal("no process of the detached run")
	return 0
}
