package job

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

func TestKillSoft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		tree.onSignal = dies(sys.SIGTERM)
		s, sp := fakeStore(t, Config{}, tree)
		j := mustRun(t, s, sp)
		want(t, "state", j.Snapshot().State, Running)
		if err := j.Kill(t.Context(), Kill{}); err != nil {
			t.Fatal(err)
		}
		r := j.Snapshot()
		want(t, "state", r.State, Killed)
		want(t, "signal", r.Signal, "SIGTERM")
		want(t, "ended_by", r.EndedBy, ByKill)
		want(t, "confirmed", isTrue(r.KillConfirmed) && isTrue(r.IdentityConfirmed), true)
		want(t, "hard kills", tree.kills, 0)
		<-j.gone
		want(t, "releases", tree.released, 1)
		s.Close(t.Context())
	})
}

func TestKillEscalates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		s, sp := fakeStore(t, Config{}, tree)
		j := mustRun(t, s, sp)
		start := time.Now()
		if err := j.Kill(t.Context(), Kill{}); err != nil {
			t.Fatal(err)
		}
		want(t, "grace", time.Since(start), 5*time.Second)
		r := j.Snapshot()
		want(t, "signal", r.Signal, "SIGKILL")
		want(t, "state", r.State, Killed)
		want(t, "soft stops", len(tree.sent()), 1)
		s.Close(t.Context())
	})
}

func TestKillHardAtOnce(t *testing.T) {
	for name, k := range map[string]Kill{
		"SIGKILL": {Signal: "SIGKILL"},
		"grace 0": {Grace: ptr(time.Duration(0))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tree := newFakeTree()
				s, sp := fakeStore(t, Config{}, tree)
				j := mustRun(t, s, sp)
				start := time.Now()
				if err := j.Kill(t.Context(), k); err != nil {
					t.Fatal(err)
				}
				want(t, "took", time.Since(start), 0)
				want(t, "signal", j.Snapshot().Signal, "SIGKILL")
				want(t, "soft stops", len(tree.sent()), 0)
				s.Close(t.Context())
			})
		})
	}
}

// A second, harder kill shortens the grace of the first.
func TestKillHastened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		s, sp := fakeStore(t, Config{}, tree)
		j := mustRun(t, s, sp)
		start := time.Now()
		if err := j.Kill(t.Context(), Kill{NoWait: true}); err != nil {
			t.Fatal(err)
		}
		r := j.Snapshot()
		want(t, "state while ending", r.State, Running)
		if r.Ending == nil || r.Ending.By != ByKill || r.Ending.Step != StepSoft {
			t.Errorf("ending: %+v", r.Ending)
		}
		time.Sleep(time.Second)
		if err := j.Kill(t.Context(), Kill{Grace: ptr(time.Second)}); err != nil {
			t.Fatal(err)
		}
		want(t, "took", time.Since(start), 2*time.Second)
		s.Close(t.Context())
	})
}

// The leader's end came first: the job exited, whatever is asked afterwards.
func TestCauseIsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		s, sp := fakeStore(t, Config{}, tree)
		j := mustRun(t, s, sp)
		tree.leave(3, 0)
		synctest.Wait()
		r := j.Snapshot()
		if r.State != Running || r.LeaderExit == nil || *r.LeaderExit.Code != 3 || r.Ending == nil {
			t.Fatalf("after the leader's end: %+v", r)
		}
		if err := j.Kill(t.Context(), Kill{Signal: "SIGKILL"}); err != nil {
			t.Fatal(err)
		}
		r = j.Snapshot()
		want(t, "state", r.State, Exited)
		want(t, "code", *r.ExitCode, 3)
		want(t, "ended_by", r.EndedBy, ByExit)
		if r.LeaderExit != nil {
			t.Errorf("leader exit repeated: %+v", r.LeaderExit)
		}
		s.Close(t.Context())
	})
}

func TestLeaderExitReapsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		s, sp := fakeStore(t, Config{}, tree)
		j := mustRun(t, s, sp)
		start := time.Now()
		tree.leave(0, 0)
		<-j.Done()
		want(t, "grace", time.Since(start), 5*time.Second)
		r := j.Snapshot()
		want(t, "state", r.State, Exited)
		want(t, "confirmed", isTrue(r.KillConfirmed), true)
		want(t, "signals", len(tree.sent()), 1)
		want(t, "hard kills", tree.kills, 1)
		s.Close(t.Context())
	})
}

func TestOnExitWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byItself, killed := newFakeTree(), newFakeTree()
		killed.onSignal = func(t *fakeTree, s sys.Signal) { t.all(0, s) }
		s, sp := fakeStore(t, Config{}, byItself, killed)
		sp.OnExit = Wait
		j := mustRun(t, s, sp)
		byItself.leave(7, 0)
		time.Sleep(time.Hour)
		r := j.Snapshot()
		if r.State != Running || r.LeaderExit == nil || *r.LeaderExit.Code != 7 || r.Ending != nil {
			t.Fatalf("after the leader's end: %+v", r)
		}
		byItself.all(0, 0)
		<-j.Done()
		r = j.Snapshot()
		want(t, "state", r.State, Exited)
		want(t, "code", *r.ExitCode, 7)

		k := mustRun(t, s, sp)
		killed.leave(9, 0)
		synctest.Wait()
		if err := k.Kill(t.Context(), Kill{}); err != nil {
			t.Fatal(err)
		}
		r = k.Snapshot()
		want(t, "state", r.State, Killed)
		want(t, "signal", r.Signal, "SIGTERM")
		if r.LeaderExit == nil || *r.LeaderExit.Code != 9 {
			t.Errorf("leader exit: %+v", r.LeaderExit)
		}
		s.Close(t.Context())
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		tree.onSignal = dies(sys.SIGTERM)
		s, sp := fakeStore(t, Config{}, tree)
		sp.Deadline = 400*time.Millisecond + 500*time.Microsecond
		j := mustRun(t, s, sp)
		start := j.Snapshot().Spawned
		<-j.Done()
		r := j.Snapshot()
		want(t, "ended after", r.Ended.Sub(start), sp.Deadline)
		want(t, "state", r.State, Failed)
		want(t, "ended_by", r.EndedBy, ByDeadline)
		if d := r.Diagnostic; d == nil || d.Reason != ReasonRuntime || d.Code != "deadline" || !strings.Contains(d.Message, "400.5 ms") {
			t.Errorf("diagnostic: %+v", d)
		}
		if r.ExitCode != nil || r.Signal != "" {
			t.Errorf("outcome of another state: %+v", r)
		}
		s.Close(t.Context())
	})
}

// What survives two seconds of the hard kill is named; its slot stays taken
// until it is proved gone.
func TestGivenUpThenConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, after := newFakeTree(), newFakeTree()
		stuck.onKill = func(*fakeTree) {}
		stuck.survivors = []sys.Member{{ID: sys.ID{PID: 99}, Command: "nfs"}}
		s, sp := fakeStore(t, Config{MaxRunning: ptr(1)}, stuck, after)
		events := s.Subscribe(64)
		j := mustRun(t, s, sp)
		queued := mustRun(t, s, sp)
		want(t, "place", queued.Snapshot().QueuePosition, 1)
		start := time.Now()
		if err := j.Kill(t.Context(), Kill{Signal: "SIGKILL"}); err != nil {
			t.Fatal(err)
		}
		want(t, "took", time.Since(start), hardBound)
		r := j.Snapshot()
		want(t, "confirmed", isFalse(r.KillConfirmed), true)
		if !slices.Equal(r.Survivors, []Member{{99, "nfs"}}) {
			t.Errorf("survivors: %+v", r.Survivors)
		}
		want(t, "place", queued.Snapshot().QueuePosition, 1)
		stuck.all(0, sys.SIGKILL)
		<-queued.spawned
		r = j.Snapshot()
		want(t, "confirmed later", isTrue(r.KillConfirmed) && r.Survivors == nil, true)
		want(t, "releases", stuck.released, 1)
		var kinds []EventKind
		for len(events.C) > 0 {
			if e := <-events.C; e.Job == j {
				kinds = append(kinds, e.Kind)
			}
		}
		if !slices.Equal(kinds, []EventKind{EventCreated, EventStarted, EventEnding, EventEnded, EventConfirmed}) &&
			!slices.Equal(kinds, []EventKind{EventStarted, EventCreated, EventEnding, EventEnded, EventConfirmed}) {
			t.Errorf("events: %v", kinds)
		}
		after.all(0, 0)
		<-queued.Done()
		s.Close(t.Context())
	})
}

// A system without a soft stop goes straight to the hard kill.
func TestNoSoftStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		tree.noSignal = sys.ErrUnsupported
		s, sp := fakeStore(t, Config{}, tree)
		j := mustRun(t, s, sp)
		start := time.Now()
		if err := j.Kill(t.Context(), Kill{}); err != nil {
			t.Fatal(err)
		}
		want(t, "took", time.Since(start), 0)
		want(t, "signal", j.Snapshot().Signal, "SIGKILL")
		s.Close(t.Context())
	})
}

func TestSpawnFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sp := fakeStore(t, Config{MaxRunning: ptr(1)})
		for range 3 { // the slot is free again each time
			j := mustRun(t, s, sp)
			<-j.Done()
			r := j.Snapshot()
			want(t, "state", r.State, Failed)
			want(t, "ended_by", r.EndedBy, BySpawnFailed)
			want(t, "confirmed", isTrue(r.KillConfirmed), true)
			if r.Identity != nil || r.IdentityCapture != "" || !r.Spawned.IsZero() {
				t.Errorf("shows a process that never was: %+v", r)
			}
		}
		s.Close(t.Context())
	})
}

// The leader had ended before the deadline, or before the kill was asked for,
// and only nobody had noticed: the whole process had been stopped.
func TestEndBeforeItWasNoticed(t *testing.T) {
	for name, ask := range map[string]func(t *testing.T, j *Job){
		"deadline": func(*testing.T, *Job) { time.Sleep(time.Second) },
		"kill": func(t *testing.T, j *Job) {
			if err := j.Kill(t.Context(), Kill{}); err != nil {
				t.Error(err)
			}
		},
		"hard kill": func(t *testing.T, j *Job) {
			if err := j.Kill(t.Context(), Kill{Signal: "SIGKILL"}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tree := newFakeTree()
				s, sp := fakeStore(t, Config{}, tree)
				sp.Deadline = time.Second
				j := mustRun(t, s, sp)
				tree.gone.Store(true)
				go func() {
					time.Sleep(time.Second + time.Millisecond) // the observer comes late
					tree.all(7, 0)
				}()
				ask(t, j)
				<-j.Done()
				r := j.Snapshot()
				want(t, "state", r.State, Exited)
				want(t, "ended_by", r.EndedBy, ByExit)
				want(t, "signals", len(tree.sent()), 0)
				if r.ExitCode == nil || *r.ExitCode != 7 {
					t.Errorf("exit code: %v", r.ExitCode)
				}
				s.Close(t.Context())
			})
		})
	}
}
