package sys_test

import (
	"os"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// movedBeside starts a tree of which one member moves into the directory of the
// host's containers, with nothing that tells whose it is, and lives on there when
// all others have ended.
func movedBeside(t *testing.T, h sys.Host, token string) {
	t.Helper()
	r := escaped(t, h, token, "adrift", sys.ContainersOf(h))
	openFifo(t)
	wait(t, "empty", r.Empty())
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestCloseEndsWhatMovedBeside: a closing host leaves nothing in its directory,
// and the guardian, when work is left to it, does not either.
func TestCloseEndsWhatMovedBeside(t *testing.T) {
	for name, end := range map[string]func(h sys.Host) error{
		"close":    sys.Host.Close,
		"guardian": func(h sys.Host) error { sys.LeaveToGuardian(h); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, sys.CgroupV2)
			needs(t, h, sys.CgroupV2)
			token, dir := newToken(t), sys.ContainersOf(h)
			movedBeside(t, h, token)
			if err := end(h); err != nil {
				t.Error(err)
			}
			gone(t, token)
			for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
				if _, err := os.Stat(dir); os.IsNotExist(err) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s is still there", dir)
				}
			}
		})
	}
}

// TestLeaderEndedOutside: a leader that left its container and then ended by
// itself is found out at its end, and what it left is ended by its group.
func TestLeaderEndedOutside(t *testing.T) {
	for _, old := range []bool{false, true} {
		h := newHost(t, sys.CgroupV2)
		needs(t, h, sys.CgroupV2)
		if old {
			sys.WithoutPidfdGroups(h)
		}
		token := newToken(t)
		r := startSpec(t, h, func(w *os.File) sys.Spec {
			sp := specOf(t, w, []string{token}, "exit", "0")
			sp.Path = "/bin/sh"
			sp.Argv = []string{"sh", "-c", "echo $$ > " + parentOfTests() +
				"/cgroup.procs; (setsid sleep 60 & echo started; wait) & read x < " + fifoHeld(t) + "; exit 3"}
			return sp
		})
		if got := r.line(t); got != "started" {
			t.Fatal(got)
		}
		if g := r.Guarantee(); g.Kill != sys.ScopeGroup {
			t.Errorf("of a live leader outside: %+v", g)
		}
		openFifo(t)
		wait(t, "exited", r.Exited())
		if g := r.Guarantee(); g.Kill != sys.ScopeGroup || g.LeaderExit != sys.ScopeGroup {
			t.Errorf("guarantee %+v", g)
		}
		if rep, err := r.Kill(t.Context()); err != nil || rep.Proof != sys.ProofGroupScan {
			t.Errorf("%+v %v", rep, err)
		}
		gone(t, token)
	}
}
