package job

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// isRecord tells whether the store has no more of a job than its record.
func isRecord(s *Store, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.jobs[id].Value.(*record)
	return ok
}

// answers are all that can be asked of a job that has ended.
func answers(t *testing.T, j *Job) map[string]any {
	t.Helper()
	a := map[string]any{
		"id": j.ID(), "done": closed(j.Done()), "snapshot": j.Snapshot(), "kill": j.Kill(t.Context(), Kill{Signal: "SIGKILL"}),
		"leader": j.Leader().PID,
	}
	members, _ := j.Members()
	a["members"] = len(members)
	for _, sel := range []Sel{SelStdout, SelStderr, SelBoth} {
		for _, after := range []uint64{0, 1, 2, 99} {
			q := Query{After: after, Sel: sel, Pending: true, Timestamps: true}
			a["output"+string('0'+rune(sel))+string('0'+rune(after%10))] = j.Output(q)
			a["follow"+string('0'+rune(sel))+string('0'+rune(after%10))] = j.Follow(t.Context(), after, sel, time.Minute)
		}
		a["tail"+string('0'+rune(sel))] = j.Tail(5, Query{Sel: sel})
		a["head"+string('0'+rune(sel))] = j.Head(sel)
	}
	return a
}

func same(t *testing.T, got, want map[string]any) {
	t.Helper()
	for what, w := range want {
		if !reflect.DeepEqual(got[what], w) {
			t.Errorf("%s: %+v, want %+v", what, got[what], w)
		}
	}
}

// What stays of a job answers as the job itself does, and the list tells it.
func TestRecordAnswers(t *testing.T) {
	s, sp := fakeStore(t, Config{MaxRetained: ptr(1)})
	t.Cleanup(func() { s.Close(context.Background()) })
	run := func(say func(sp sys.Spec), end func(t *fakeTree)) *Job {
		s.cfg.Launcher = fakeLauncher{func(sp sys.Spec) (sys.Tree, error) {
			say(sp)
			tree := newFakeTree()
			end(tree)
			return tree, nil
		}}
		j := mustRun(t, s, sp)
		<-j.gone
		return j
	}
	both := func(sp sys.Spec) {
		sp.Stdio[1].WriteString("one\ntwo\nno newline")
		sp.Stdio[2].WriteString("three\n")
	}
	sp.Label = ptr("mine")
	spoke := run(both, func(t *fakeTree) { t.all(7, 0) })
	sp.Label, sp.Limits = nil, Limits{Tasks: 5}
	killed := run(both, func(t *fakeTree) { t.all(0, sys.SIGSEGV) })
	last := run(both, func(t *fakeTree) { t.all(0, 0) })
	s.live.Wait()
	s.mu.Lock()
	s.sweepLocked(time.Now())
	s.mu.Unlock()
	for _, j := range []*Job{spoke, killed} {
		if !isRecord(s, j.id) {
			t.Fatalf("more than a record is left of %+v", j.brief())
		}
		again, ok := s.Get(j.id)
		if !ok || again == j {
			t.Fatal("it is not in the store, or as it was")
		}
		same(t, answers(t, again), answers(t, j))
	}
	if isRecord(s, last.id) {
		t.Error("a job with output was dropped")
	}
	list, _ := s.List(Filter{})
	for i, j := range []*Job{last, killed, spoke} {
		if !reflect.DeepEqual(list[i], j.brief()) {
			t.Errorf("the list says %+v, want %+v", list[i], j.brief())
		}
	}
	if list[1].Guarantee != list[2].Guarantee {
		t.Error("the same guarantee is kept twice")
	}
}

// A job that never said anything, or never ran, is a record once it is over.
func TestRecordOfSilence(t *testing.T) {
	s, sp := fakeStore(t, Config{})
	t.Cleanup(func() { s.Close(context.Background()) })
	s.cfg.Launcher = fakeLauncher{func(sys.Spec) (sys.Tree, error) {
		tree := newFakeTree()
		tree.all(0, 0)
		return tree, nil
	}}
	silent := mustRun(t, s, sp)
	<-silent.gone
	sp.Dir = ptr("/no/such/folder")
	refused := mustRun(t, s, sp)
	s.live.Wait()
	for _, j := range []*Job{silent, refused} {
		if !isRecord(s, j.id) {
			t.Fatalf("more than a record is left of %+v", j.brief())
		}
		again, _ := s.Get(j.id)
		same(t, answers(t, again), answers(t, j))
	}
	if s.Busy() {
		t.Error("records keep the store busy")
	}
}

// A detached job's files go with its record.
func TestRecordOfDetached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		o := leftJob("aaaaaaaa-1111-4111-8111-111111111111", begin,
			Snapshot{State: Exited, ExitCode: ptr(9), EndedBy: ByExit, Ended: begin.Add(time.Minute)}, "over\n")
		s, _ := fakeStore(t, Config{Detacher: &fakeDetacher{left: []Owned{o}}, RecordTTL: ptr(2 * time.Hour), Retention: ptr(time.Hour)})
		defer s.Close(context.Background())
		j, ok := s.Get(o.id)
		if !ok {
			t.Fatal("not adopted")
		}
		want(t, "lines", len(j.Output(Query{}).Lines), 1)
		synctest.Wait()
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		if !isRecord(s, o.id) {
			t.Fatal("more than a record is left")
		}
		again, _ := s.Get(o.id)
		same(t, answers(t, again), answers(t, j))
		want(t, "loss", again.Output(Query{}).Loss[ring.Stdout], ring.Loss{Dropped: 1, FirstKept: 1})
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, ok := s.Get(o.id); ok {
			t.Error("the record outlived its time")
		}
		want(t, "removed", o.removed, true)
	})
}
