package sys_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// TestSweepAfterEachStep: a host that was killed at any step of its start leaves
// nothing behind the next sweep.
func TestSweepAfterEachStep(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	want := map[int]sys.SweepOutcome{1: sys.SweptStale, 2: sys.SweptEnded, 3: sys.SweptEnded}
	for step, outcome := range want {
		group, records := groupFor(t), filepath.Join(t.TempDir(), "records")
		path, argv, env := systest.Command("dies-at-step", strconv.Itoa(step), records, group)
		cmd := &exec.Cmd{Path: path, Args: argv, Env: env}
		if out, err := cmd.Output(); len(out) > 0 || err == nil {
			t.Fatalf("step %d: %q %v", step, out, err)
		}
		if got := sweepAll(t, records); len(got) != 1 || got[0].Outcome != outcome {
			t.Errorf("step %d: %+v, want %s", step, got, outcome)
		}
		if left, _ := os.ReadDir(records); len(left) != 1 || left[0].Name() != "sweep.lock" {
			t.Errorf("step %d left %v", step, left)
		}
	}
}

// TestSweepAfterAnyMoment kills supervisors in their first milliseconds.
func TestSweepAfterAnyMoment(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group, records := groupFor(t), filepath.Join(t.TempDir(), "records")
	n := rounds(t, 200)
	for i := range n {
		path, argv, env := systest.Command("recorded-supervisor", group, records)
		cmd := &exec.Cmd{Path: path, Args: argv, Env: env}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Spread over the start, whatever its length here: no wait is for an event.
		time.Sleep(time.Duration(i) * 60 * time.Millisecond / time.Duration(n))
		cmd.Process.Kill()
		cmd.Wait()
	}
	// Guardians may still be at work on what the sweep finds.
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		got := sweepAll(t, records)
		if len(got) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %+v", got)
		}
	}
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		left, err := filepath.Glob(group + "/belfry-*")
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d directories are left: %v", len(left), left)
		}
	}
}

// TestSweepBesideStarting: hosts that start and close while others sweep are not
// disturbed, and leave no record.
func TestSweepBesideStarting(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group, records := groupFor(t), filepath.Join(t.TempDir(), "records")
	stop := make(chan struct{})
	var sweepers sync.WaitGroup
	for range 2 {
		h := sweeping(t, records)
		sweepers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				got, err := h.Sweep(t.Context())
				if err != nil {
					t.Error(err)
				}
				for _, r := range got {
					if r.Outcome != sys.SweptLive && r.Outcome != sys.SweptStale {
						t.Errorf("%+v", r)
					}
				}
			}
		})
	}
	for range rounds(t, 200) {
		h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.CgroupV2, Parent: group, Records: records})
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, h, nil, "exit", "3")
		wait(t, "empty", r.Empty())
		if e, g := r.Exit(), r.Guarantee(); e.Code != 3 || g.HelperDeath != sys.ScopeTreeOnRestart {
			t.Errorf("%+v %+v", e, g)
		}
		if err := r.Release(); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	sweepers.Wait()
	if left := files(t, records); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
