package job

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// The store shows what the supervisor tells, hands kills on, and takes the slot
// back at the end.
func TestDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j, o, order := detachedJob(t, Config{MaxRunning: ptr(1)})
		defer s.Close(context.Background())
		if order.Deadline != time.Minute || order.OnExit != Wait || order.Label != "a label" || order.Grace != 5*time.Second || len(order.Argv) != 1 ||
			!order.MergeStderr || order.Contain != ContainTree || !order.AllowWeaker || order.Limits.Tasks != 5 {
			t.Errorf("%+v", order)
		}
		want(t, "at first", j.Snapshot().State, Starting)
		queued := mustRun(t, s, Spec{Command: order.Argv})
		want(t, "place of the next", queued.Snapshot().QueuePosition, 1)
		o.record(recordOf(order, Running))
		o.say(Stdout, "one\ntwo\nhalf")
		snap := j.Snapshot()
		if snap.State != Running || snap.Guarantee.Mechanism != "cgroup_v2" || snap.Counts[Stdout].Lines != 2 || snap.Counts[Stdout].Pending != 4 {
			t.Errorf("%+v", snap)
		}
		if err := j.Kill(t.Context(), Kill{Signal: "SIGTERM", Grace: ptr(3 * time.Second), NoWait: true}); err != nil {
			t.Error(err)
		}
		if err := j.Kill(t.Context(), Kill{Signal: "SIGUSR1", NoWait: true}); err != nil {
			t.Error(err)
		}
		if !slices.Equal(o.signals, []sys.Signal{sys.SIGTERM, must(sys.ParseSignal("SIGUSR1"))}) || o.graces[0] != 3*time.Second {
			t.Errorf("%v %v", o.signals, o.graces)
		}
		followed := make(chan Cause)
		go func() { followed <- j.Follow(t.Context(), 3, ring.SelBoth, 0) }()
		o.tell(func(to Replica) { to.Finish(Stdout, time.Now()) })
		o.record(endedRecord(order, 7))
		want(t, "cause", <-followed, CauseEnded)
		snap = j.Snapshot()
		if snap.State != Exited || *snap.ExitCode != 7 || snap.Counts[Stdout].Lines != 3 {
			t.Errorf("%+v", snap)
		}
		synctest.Wait()
		want(t, "the next", queued.Snapshot().State, Failed) // no tree is left for it: it was started
		o.tells <- nil
		<-j.gone
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A store that closes lets go: the job is not ended, and who follows it is told
// that the time is over.
func TestDetachedIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j, o, order := detachedJob(t, Config{})
		o.record(recordOf(order, Running))
		followed := make(chan Cause)
		go func() { followed <- j.Follow(t.Context(), 0, ring.SelBoth, 0) }()
		synctest.Wait()
		s.Close(context.Background())
		want(t, "cause", <-followed, CauseElapsed)
		if snap := j.Snapshot(); snap.State != Running || len(o.signals) != 0 {
			t.Errorf("%+v %v", snap, o.signals)
		}
	})
}

// A supervisor that is gone without a word leaves a job that is lost.
func TestDetachedIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j, o, order := detachedJob(t, Config{})
		defer s.Close(context.Background())
		o.record(recordOf(order, Running))
		o.say(Stderr, "last words\n")
		close(o.tells)
		<-j.Done()
		snap := j.Snapshot()
		if snap.State != Failed || snap.EndedBy != ByLost || snap.Diagnostic.Code != "lost" || held(j) != 1 {
			t.Errorf("%+v", snap)
		}
	})
}

// Without a way to detach there is no such job, and one that cannot be detached
// is born failed with the reason and the remedy.
func TestDetachRefused(t *testing.T) {
	s, sp := fakeStore(t, Config{})
	sp.Detach = true
	var ae *ArgumentError
	if _, err := s.Run(t.Context(), sp); !errors.As(err, &ae) || ae.Argument != "detach" {
		t.Errorf("%v", err)
	}
	s, sp = fakeStore(t, Config{Detacher: &fakeDetacher{detach: func(Order) (Owned, error) {
		return nil, &DetachError{Err: errors.New("the disk is gone"), Remedy: "bring it back"}
	}}})
	defer s.Close(context.Background())
	sp.Detach = true
	j := mustRun(t, s, sp)
	<-j.Done()
	d := j.Snapshot().Diagnostic
	want(t, "code", d.Code, "detach_unavailable")
	want(t, "message", d.Message, "the job cannot be detached: the disk is gone; bring it back")
}

// leftJob is a detached job of an earlier store: told once it is asked for.
func leftJob(id string, created time.Time, s Snapshot, text string) *fakeOwned {
	o := newFakeOwned(id)
	s.ID, s.Created = id, created
	go func() {
		o.tell(func(to Replica) {
			to.Output(Stdout, s.Created, []byte(text))
			to.Record(s)
			to.CaughtUp()
		})
		if s.Terminal() {
			o.tells <- nil
		}
	}()
	return o
}

// Jobs of earlier stores are found when they are asked for, at their place in
// the list, and take slots while they run.
func TestAdopt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b, c = "aaaaaaaa-1111-4111-8111-111111111111", "bbbbbbbb-1111-4111-8111-111111111111", "cccccccc-1111-4111-8111-111111111111"
		begin := time.Now()
		d := &fakeDetacher{}
		running := leftJob(b, begin.Add(2*time.Minute), Snapshot{State: Running}, "going on\n")
		d.left = []Owned{
			running,
			leftJob(a, begin.Add(time.Minute), Snapshot{State: Exited, ExitCode: ptr(9), EndedBy: ByExit, Ended: begin.Add(2 * time.Minute)}, "over\n"),
			leftJob(c, begin.Add(3*time.Minute), Snapshot{State: Killed, Signal: "SIGTERM", Ended: begin.Add(4 * time.Minute)}, ""),
		}
		time.Sleep(10 * time.Minute)
		s, sp := fakeStore(t, Config{Detacher: d, MaxRunning: ptr(1)})
		defer s.Close(context.Background())
		if _, ok := s.Get("not/an/id"); ok || len(d.left) != 3 {
			t.Error("an id that is none was looked for")
		}
		j, ok := s.Get(b)
		if !ok || j.Snapshot().State != Running || held(j) != 1 || len(d.left) != 2 {
			t.Fatalf("%v, %d left", ok, len(d.left))
		}
		own := mustRun(t, s, sp)
		want(t, "place beside an adopted job", own.Snapshot().QueuePosition, 1)
		list, _ := s.List(Filter{})
		var ids []string
		for _, x := range list {
			ids = append(ids, x.ID)
		}
		if !slices.Equal(ids, []string{own.ID(), c, b, a}) {
			t.Errorf("%v", ids)
		}
		j, _ = s.Get(a)
		if snap := j.Snapshot(); *snap.ExitCode != 9 || !closed(j.Done()) || held(j) != 1 {
			t.Errorf("%+v", snap)
		}
		close(running.tells)
		synctest.Wait()
		want(t, "slot of the lost", own.Snapshot().State, Failed) // it was started, without a tree
	})
}

// The time of what ended unseen counts from its adoption, and it is removed from
// where it is kept when its record goes.
func TestAdoptedIsRetained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const id = "aaaaaaaa-1111-4111-8111-111111111111"
		o := leftJob(id, time.Now(), Snapshot{State: Exited, ExitCode: ptr(0), Ended: time.Now()}, "read me\n")
		time.Sleep(2 * time.Hour)
		s, _ := fakeStore(t, Config{Detacher: &fakeDetacher{left: []Owned{o}}, Retention: ptr(time.Hour), RecordTTL: ptr(24 * time.Hour)})
		defer s.Close(context.Background())
		s.Adopt()
		time.Sleep(59 * time.Minute)
		j, _ := s.Get(id)
		want(t, "lines within the hour", held(j), 1)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		want(t, "lines after it", held(j), 0)
		o.mu.Lock()
		saved := o.reclaimed
		o.mu.Unlock()
		again, err := ring.Load(bytes.NewReader(saved), ring.DefaultLimits, nil)
		if err != nil || again.Stat(ring.Stdout) != j.out().Stat(ring.Stdout) {
			t.Errorf("%v", err)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if _, ok := s.find(id); ok || !o.removed {
			t.Errorf("record there %v, removed %v", ok, o.removed)
		}
	})
}

// Who follows a job goes on when its output is begun anew.
func TestRestoreWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j, o, order := detachedJob(t, Config{})
		defer s.Close(context.Background())
		o.record(recordOf(order, Running))
		o.say(Stdout, "one\n")
		followed := make(chan Cause, 1)
		go func() { followed <- j.Follow(t.Context(), 2, ring.SelBoth, 0) }()
		synctest.Wait()
		other := ring.NewJob(ring.DefaultLimits, nil)
		put := func(text string) {
			n := copy(other.Stream(ring.Stdout).Space(), text)
			other.Stream(ring.Stdout).Commit(n)
		}
		put("one\ntwo\n")
		restore := func(to Replica) {
			var b bytes.Buffer
			if err := errors.Join(other.Save(&b), to.Restore(&b)); err != nil {
				t.Error(err)
			}
		}
		o.tell(restore)
		synctest.Wait()
		if len(followed) != 0 {
			t.Fatal("woken for lines that it knows")
		}
		o.say(Stdout, "three\n")
		want(t, "cause", <-followed, CauseOutput)
		go func() { followed <- j.Follow(t.Context(), 3, ring.SelBoth, 0) }()
		synctest.Wait()
		put("three\nfour\n")
		o.tell(restore)
		want(t, "cause", <-followed, CauseOutput)
		if p := j.Output(Query{After: 3}); len(p.Lines) != 1 || p.Lines[0].Text != "four" {
			t.Errorf("%+v", p)
		}
	})
}
