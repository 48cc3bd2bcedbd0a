package job

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/ring"
)

// waitingJobs are a detached job that has the only place and n that wait for it.
func waitingJobs(t *testing.T, n int) (*Store, *fakeDetacher, []*Job) {
	t.Helper()
	s, running, _, _ := detachedJob(t, Config{MaxRunning: ptr(1), MaxQueue: ptr(8)})
	sp := running.spec()
	jobs := []*Job{running}
	for i := range n {
		sp.Label = ptr(fmt.Sprint("waits ", i))
		time.Sleep(time.Millisecond)
		jobs = append(jobs, mustRun(t, s, sp))
	}
	return s, s.cfg.Detacher.(*fakeDetacher), jobs
}

func (j *Job) spec() Spec { return j.work.spec }

// What waits for a place is noted, and a store that ends lets it go: the next one
// has it in the same order, and what is started is what was asked for.
func TestWaitingOutlivesStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, jobs := waitingJobs(t, 3)
		want(t, "noted", len(d.kept), 3)
		want(t, "place", jobs[2].Snapshot().QueuePosition, 2)
		followed := make(chan Cause, 1)
		go func() { followed <- jobs[1].Follow(t.Context(), 0, ring.SelBoth, 0) }()
		synctest.Wait()
		s.Close(context.Background())
		want(t, "a follow", <-followed, CauseElapsed)
		for _, j := range jobs[1:] {
			if snap := j.Snapshot(); snap.State != Starting || !closed(j.left) || closed(j.done) {
				t.Errorf("after the end of its store: %+v", snap)
			}
			if err := j.Kill(t.Context(), Kill{}); !errors.Is(err, errLeft) {
				t.Errorf("killed afterwards: %v", err)
			}
		}
		want(t, "still noted", len(d.kept), 3)

		var started []Order
		var owned []*fakeOwned
		next := &fakeDetacher{waits: []Order{d.kept[2], d.kept[0], d.kept[1]}}
		next.detach = func(o Order) (Owned, error) {
			started = append(started, o)
			owned = append(owned, newFakeOwned(o.ID))
			return owned[len(owned)-1], nil
		}
		s, _ = fakeStore(t, Config{Detacher: next, MaxRunning: ptr(1), MaxQueue: ptr(1)})
		if _, ok := s.Get(jobs[2].ID()); !ok { // its turn is the second all the same
			t.Fatal("it is not found")
		}
		s.Adopt()
		synctest.Wait()
		list, _ := s.List(Filter{})
		for i, snap := range list {
			if want := jobs[3-i]; snap.ID != want.ID() || snap.Label != want.Snapshot().Label || snap.State != Starting {
				t.Errorf("%d: %+v", i, snap)
			}
		}
		places := map[string]int{}
		for i := range list {
			places[list[i].ID] = list[i].QueuePosition
		}
		if places[jobs[1].ID()] != 0 || places[jobs[2].ID()] != 1 || places[jobs[3].ID()] != 2 {
			t.Errorf("places %v", places)
		}
		for i := range 3 {
			o := owned[i]
			o.record(endedRecord(started[i], i))
			o.tells <- nil
			synctest.Wait()
		}
		for i, o := range started {
			if was := jobs[i+1]; o.ID != was.ID() || o.Deadline != time.Minute || o.OnExit != Wait || !o.MergeStderr ||
				o.Contain != ContainTree || !o.AllowWeaker || o.Limits.Tasks != 5 || o.Path == "" || len(o.Argv) != 1 || !o.Created.Equal(was.createdAt()) {
				t.Errorf("%d: %+v", i, o)
			}
			j, _ := s.Get(o.ID)
			if snap := j.Snapshot(); snap.State != Exited || *snap.ExitCode != i {
				t.Errorf("%d: %+v", i, snap)
			}
		}
		s.Close(context.Background())
	})
}

// One that is cancelled while it waits is noted no longer, and neither is one of
// a store that never got to it.
func TestWaitingIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, jobs := waitingJobs(t, 2)
		if err := jobs[1].Kill(t.Context(), Kill{}); err != nil {
			t.Fatal(err)
		}
		want(t, "state", jobs[1].Snapshot().State, Killed)
		if len(d.kept) != 1 || d.kept[0].ID != jobs[2].ID() {
			t.Errorf("%+v", d.kept)
		}
		s.Close(context.Background())
		want(t, "state of the other", jobs[2].Snapshot().State, Starting)
	})
}

// What is rejected is noted no longer.
func TestRejectedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, jobs := waitingJobs(t, 8)
		if _, err := s.Run(t.Context(), jobs[0].spec()); err == nil {
			t.Error("the queue has no end")
		}
		want(t, "noted", len(d.kept), 8)
		s.Close(context.Background())
	})
}

// Where it cannot be noted the job fails at once, and takes no place.
func TestWaitingCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, jobs := waitingJobs(t, 0)
		d.noKeep = &DetachError{Err: errors.New("no room"), Remedy: "make some"}
		j := mustRun(t, s, jobs[0].spec())
		if snap := j.Snapshot(); snap.State != Failed || snap.Diagnostic.Code != "detach_unavailable" || snap.QueuePosition != 0 {
			t.Errorf("%+v", snap)
		}
		d.noKeep = nil
		want(t, "place of the next", mustRun(t, s, jobs[0].spec()).Snapshot().QueuePosition, 1)
		s.Close(context.Background())
	})
}
