package sys_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("move-out", moveOut) }

// TestKillGivesUp: a kill is bounded by its context and names who is left.
func TestKillGivesUp(t *testing.T) {
	eachRung(t, func(t *testing.T, h sys.Host) {
		r := start(t, h, nil, "ignore-term")
		r.line(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		rep, err := r.Kill(ctx)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if (err == nil) != (rep.Proof != sys.ProofNone) {
			t.Errorf("report %+v with error %v", rep, err)
		}
		wait(t, "empty", r.Empty()) // it was delivered all the same
	})
}

// TestReleaseWhileRunning gives a tree up; nothing of it stays.
func TestReleaseWhileRunning(t *testing.T) {
	eachRung(t, func(t *testing.T, h sys.Host) {
		r := start(t, h, nil, "ignore-term")
		r.line(t)
		if err := r.Release(); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(r.Leader().PID, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
		wait(t, "exited", r.Exited())
		if _, err := r.Kill(t.Context()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("kill after release: %v", err)
		}
	})
}

// moveOut moves itself into another control group: PATH-OF-CGROUP.PROCS.
func moveOut(args []string) int {
	if err := os.WriteFile(args[0], []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, "moved")
	time.Sleep(time.Minute)
	return 0
}

// TestLeaderMovedOut: a leader that left its container is ended all the same,
// and the guarantee says less from then on.
func TestLeaderMovedOut(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	r := start(t, h, nil, "move-out", filepath.Join(parentOfTests(), "cgroup.procs"))
	if got := r.line(t); got != "moved" {
		t.Fatal(got)
	}
	if list, c := r.Members(); len(list) != 1 || c != sys.GroupOnly {
		t.Errorf("members %v, completeness %d", list, c)
	}
	if g := r.Guarantee(); g.Kill != sys.ScopeGroup || g.SupervisorDeath != sys.ScopeLeader {
		t.Errorf("guarantee %+v", g)
	}
	rep, err := r.Kill(t.Context())
	if err != nil || rep.Proof != sys.ProofGroupScan {
		t.Errorf("%+v %v", rep, err)
	}
	if e := r.Exit(); e.Signal != sys.SIGKILL {
		t.Errorf("%+v", e)
	}
}

// TestKillFindsByAncestry: the process-group rung reaches a child in a session
// of its own as long as its parent lives.
func TestKillFindsByAncestry(t *testing.T) {
	h := newHost(t, sys.ProcessGroup)
	token := newToken(t)
	r := startSpec(t, h, func(w *os.File) sys.Spec {
		sp := specOf(t, w, []string{token}, "exit", "0")
		sp.Path, sp.Argv = "/bin/sh", []string{"sh", "-c", "setsid sleep 60 & setsid sh -c 'setsid sleep 60 & wait' & wait"}
		return sp
	})
	asleep := func(p systest.Found) bool { return p.Command == "sleep 60" }
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		all := systest.Survivors(token)
		if n := len(slices.DeleteFunc(slices.Clone(all), func(p systest.Found) bool { return !asleep(p) })); n == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("never two sleepers: %v", all)
		}
	}
	if rep, err := r.Kill(t.Context()); err != nil || rep.Proof != sys.ProofGroupScan {
		t.Errorf("%+v %v", rep, err)
	}
	gone(t, token)
}
