package sys_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// eachRung runs a test on every rung, and on the group rung also as on a
// kernel that knows no group signal by pidfd.
func eachRung(t *testing.T, f func(t *testing.T, h sys.Host)) {
	for _, m := range everyRung {
		t.Run(string(m), func(t *testing.T) {
			h := newHost(t, m)
			needs(t, h, m)
			f(t, h)
		})
		t.Run(string(m)+" before 6.9", func(t *testing.T) {
			h := newHost(t, m)
			needs(t, h, m)
			sys.WithoutPidfdGroups(h)
			f(t, h)
		})
	}
}

func TestExit(t *testing.T) {
	eachRung(t, func(t *testing.T, h sys.Host) {
		for _, c := range []struct {
			args []string
			want sys.Exit
		}{
			{[]string{"exit", "0"}, sys.Exit{}},
			{[]string{"exit", "17"}, sys.Exit{Code: 17}},
			{[]string{"die-by", "9"}, sys.Exit{Signal: sys.SIGKILL}},
			{[]string{"die-by", "15"}, sys.Exit{Signal: sys.SIGTERM}},
		} {
			r := start(t, h, nil, c.args[0], c.args[1:]...)
			before := time.Now()
			if id, err := h.Lookup(r.Leader().PID); err == nil && id.Same(r.Leader()) != sys.Yes {
				t.Errorf("looked up %+v, started %+v", id, r.Leader())
			}
			wait(t, "exited", r.Exited())
			wait(t, "empty", r.Empty())
			got := r.Exit()
			if got.At.Before(before.Add(-time.Minute)) || got.At.After(time.Now()) {
				t.Errorf("ended at %v", got.At)
			}
			got.At = time.Time{}
			if got != c.want {
				t.Errorf("%v: %+v, want %+v", c.args, got, c.want)
			}
			if err := r.Release(); err != nil {
				t.Error(err)
			}
			if err := r.Release(); err != nil {
				t.Error("second release:", err)
			}
			if _, err := os.Stat(fmt.Sprint("/proc/", r.Leader().PID, "/stat")); err == nil {
				if id, err := h.Lookup(r.Leader().PID); err == nil && id.Same(r.Leader()) == sys.Yes {
					t.Error("the leader was not reaped")
				}
			}
		}
	})
}

// TestWatcherSeesLeaderGo: a member that waits for the leader's number to be
// free ends by itself wherever the leader need not be held.
func TestWatcherSeesLeaderGo(t *testing.T) {
	for _, m := range everyRung {
		t.Run(string(m), func(t *testing.T) {
			h := newHost(t, m)
			needs(t, h, m)
			if m == sys.ProcessGroup && !sys.HasPidfdGroups(h) {
				t.Skip("before Linux 6.9 the leader of a group is held until the group is empty")
			}
			r := program(t, h, "/bin/sh", "-c", "lead=$$; (while kill -0 $lead 2>/dev/null; do sleep 0.01; done; echo gone) & exit 3")
			wait(t, "exited", r.Exited())
			if got := r.line(t); got != "gone" {
				t.Error(got)
			}
			wait(t, "empty", r.Empty())
		})
	}
}

// TestWaitsForMembers: a tree is empty when its last member ended by itself,
// and not before.
func TestWaitsForMembers(t *testing.T) {
	eachRung(t, func(t *testing.T, h sys.Host) {
		r := program(t, h, "/bin/sh", "-c", "(read x < "+fifoHeld(t)+"; echo late) & exit 0")
		wait(t, "exited", r.Exited())
		select {
		case <-r.Empty():
			t.Error("empty while a member lives")
		case <-time.After(50 * time.Millisecond):
		}
		if p := r.Proof(); p != sys.ProofNone {
			t.Errorf("proof %s while a member lives", p)
		}
		list, _ := r.Members()
		if len(list) != 1 || list[0].ID.Birth == 0 || list[0].Command != "sh" {
			t.Errorf("members %v", list)
		}
		openFifo(t)
		if got := r.line(t); got != "late" {
			t.Error(got)
		}
		wait(t, "empty", r.Empty())
		if list, _ := r.Members(); len(list) != 0 {
			t.Errorf("members after the end: %v", list)
		}
	})
}

var heldFifo = map[string]string{}

func fifoHeld(t *testing.T) string {
	name := fifo(t)
	heldFifo[t.Name()] = name
	return name
}

func openFifo(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(heldFifo[t.Name()], os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "go")
	f.Close()
}

func TestUsage(t *testing.T) {
	eachRung(t, func(t *testing.T, h sys.Host) {
		r := program(t, h, "/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; sleep 60")
		if got := r.line(t); got != "done" {
			t.Fatal(got)
		}
		live := r.Usage()
		if live.CPU < 10*time.Millisecond || live.PeakMemory < 100<<10 {
			t.Errorf("while running: %+v", live)
		}
		if _, err := r.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		end := r.Usage()
		r.Release()
		if end.CPU < 10*time.Millisecond || end.CPU > time.Minute || end.PeakMemory < 100<<10 || end.IORead < 0 || end.IOWrite < 0 {
			t.Errorf("after the end: %+v", end)
		}
		if again := r.Usage(); again != end {
			t.Errorf("%+v after the release, before %+v", again, end)
		}
	})
}

func TestInnerGroupsRemoved(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	r := start(t, h, nil, "sleep")
	dir := sys.ContainerOf(r.Tree)
	if err := os.MkdirAll(dir+"/inner/leaf", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

// TestNested ends a supervisor that runs as a job of another.
func TestNested(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	for range rounds(t, 50) {
		token := newToken(t)
		r := start(t, h, nil, "supervisor", string(sys.CgroupV2), "", token)
		ready := map[string]bool{}
		for !ready["ready"] || !ready["guarantee"] {
			word, rest, _ := strings.Cut(r.line(t), " ")
			if word == "error" {
				t.Fatal(rest)
			}
			ready[word] = true
		}
		dir := sys.ContainerOf(r.Tree)
		inner, _ := filepath.Glob(dir + "/belfry-*/*/cgroup.procs")
		inner = slices.DeleteFunc(inner, func(name string) bool {
			list, err := os.ReadFile(name)
			return err == nil && len(list) == 0 // waits for a tree
		})
		if len(inner) != 1 {
			t.Errorf("inner containers: %v", inner)
		}
		rep, err := r.Kill(t.Context())
		if err != nil || rep.Proof != sys.ProofCgroupEmpty {
			t.Errorf("%+v %v", rep, err)
		}
		gone(t, token)
		if err := r.Release(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}
