//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rounds is how often a test repeats what must never fail: n times when
// BELFRY_ROUNDS is 100, that many of a hundred of it otherwise, and a few times
// when it is not set.
func rounds(t *testing.T, n int) int {
	t.Helper()
	v := os.Getenv("BELFRY_ROUNDS")
	if v == "" {
		return max(n/50, 2)
	}
	percent, err := strconv.Atoi(v)
	if err != nil || percent < 1 {
		t.Fatalf("BELFRY_ROUNDS=%q is not a positive number", v)
	}
	return max(n*percent/100, 1)
}

// crowd is how many runs there are at once.
func crowd(t *testing.T) int { return max(20, rounds(t, 100)) }

// quarters are the folders of one test's registry and of what belfry keeps.
type quarters struct {
	t            *testing.T
	reg, runtime string
	env          []string
}

func newQuarters(t *testing.T) quarters {
	t.Helper()
	reg, runtime := filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "run")
	return quarters{t, reg, runtime, []string{"BELFRY_REGISTRY_DIR=" + reg, "BELFRY_RUNTIME_DIR=" + runtime}}
}

func (q quarters) command(args ...string) *exec.Cmd {
	cmd := belfry(q.t, args...)
	cmd.Env = append(cmd.Environ(), q.env...)
	return cmd
}

// verb runs a verb to its end; anything but success, or a word on stderr, is an
// error.
func (q quarters) verb(args ...string) string {
	var out, said bytes.Buffer
	cmd := q.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		q.t.Errorf("belfry %s: %v, said %q", strings.Join(args, " "), err, said.String())
	}
	return out.String()
}

// start starts runs that last.
func (q quarters) start() []*exec.Cmd {
	q.t.Helper()
	runs := make([]*exec.Cmd, crowd(q.t))
	for i := range runs {
		runs[i] = q.command("run", "--run-id", fmt.Sprintf("run %d", i), "--grace", "5s", "--", "sleep", "300")
		if err := runs[i].Start(); err != nil {
			q.t.Fatal(err)
		}
	}
	q.until("live", len(runs))
	return runs
}

// until waits for so many runs to be of this health.
func (q quarters) until(health string, runs int) {
	q.t.Helper()
	for deadline := time.Now().Add(time.Minute); strings.Count(q.verb("list", "--json", "--health", health), "\n") < runs; {
		if time.Now().After(deadline) {
			q.t.Fatalf("not every run is %s", health)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// left are the files of runs; tombstones are in a folder.
func (q quarters) left() (names []string) {
	files, err := os.ReadDir(q.reg)
	if err != nil {
		q.t.Error(err)
	}
	for _, f := range files {
		if !f.IsDir() {
			names = append(names, f.Name())
		}
	}
	return names
}

// Many runs end while others list, inspect, wait for and prune them: nobody is
// told what is not true, and nothing is left.
func TestCrowdedRegistry(t *testing.T) {
	q := newQuarters(t)
	runs := q.start()
	var stop atomic.Bool
	var beside sync.WaitGroup
	for _, args := range [][]string{
		{"list", "--json"}, {"inspect", "--all", "--json"}, {"prune", "--json"}, {"wait", "--all"},
	} {
		beside.Go(func() {
			for !stop.Load() {
				if out := q.verb(args...); strings.Contains(out, "stale") || strings.Contains(out, "failed") {
					t.Errorf("belfry %s: %s", strings.Join(args, " "), out)
				}
			}
		})
	}
	var ends []endedRun
	if err := json.Unmarshal([]byte(q.verb("cancel", "--all")), &ends); err != nil || len(ends) != len(runs) {
		t.Errorf("%d ends, %v", len(ends), err)
	}
	for _, run := range runs {
		if err := run.Wait(); run.ProcessState.ExitCode() != 108 {
			t.Errorf("%v", err)
		}
	}
	stop.Store(true)
	beside.Wait()
	if names := q.left(); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// Runs that begin are ended, inspected, waited for and pruned beside, from their
// first moment on: every one is cancelled, and nobody is told what is not true.
func TestStorm(t *testing.T) {
	q := newQuarters(t)
	var stop atomic.Bool
	var beside sync.WaitGroup
	for _, args := range [][]string{
		{"list", "--json"}, {"inspect", "--all", "--json"}, {"prune", "--json"}, {"wait", "--all"}, {"cancel", "--all"},
	} {
		beside.Go(func() {
			for !stop.Load() {
				if out := q.verb(args...); strings.Contains(out, "stale") || strings.Contains(out, "failed") {
					t.Errorf("belfry %s: %s", strings.Join(args, " "), out)
				}
			}
		})
	}
	runs := make([]*exec.Cmd, crowd(t))
	said := make([]bytes.Buffer, len(runs))
	for i := range runs {
		runs[i] = q.command("run", "--run-id", fmt.Sprintf("run %d", i), "--grace", "5s", "--", "sleep", "300")
		runs[i].Stderr = &said[i]
		if err := runs[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, run := range runs {
		if err := run.Wait(); run.ProcessState.ExitCode() != 108 {
			t.Errorf("%v: %s", err, &said[i])
		}
	}
	stop.Store(true)
	beside.Wait()
	if names := q.left(); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

// Runners that are killed are stale, whoever waits is told, and prune
// leaves nothing.
func TestKilledRunners(t *testing.T) {
	q := newQuarters(t)
	runs := q.start()
	waited := make(chan string)
	go func() { waited <- q.verb("wait", "--all", "--report-outcome") }()
	for _, run := range runs {
		if err := run.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = run.Wait() // it was killed
	}
	// A child that one of them was just forking had its lock as well, until its exec.
	q.until("stale", len(runs))
	if out := <-waited; strings.Contains(out, "reported") {
		t.Errorf("%s", out)
	}
	// It says so when it was faster than a guardian, so stderr is not looked at.
	out, err := q.command("prune", "--json").Output()
	if err != nil || !strings.HasPrefix(string(out), fmt.Sprintf(`{"pruned":%d,"live":0,`, len(runs))) {
		t.Errorf("%s %v", out, err)
	}
	if names := q.left(); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}
