package job

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// direct starts a fake tree without a store and gives what was decided.
func direct(t *testing.T, tree *fakeTree, d Direct) (*Job, *[]EndedBy) {
	t.Helper()
	decided := new([]EndedBy)
	d.Launcher = fakeLauncher{func(sys.Spec) (sys.Tree, error) { return tree, nil }}
	d.Spec.Argv = []string{"x"}
	d.Decided = func(by EndedBy) { *decided = append(*decided, by) }
	j, err := Start(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return j, decided
}

func TestDirectNaturalEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		j, decided := direct(t, tree, Direct{Linger: 5 * time.Second})
		tree.all(3, 0)
		<-j.Done()
		want(t, "decided", slices.Equal(*decided, []EndedBy{ByExit}), true)
		want(t, "code", *j.Snapshot().ExitCode, 3)
		want(t, "signals", len(tree.sent()), 0)
		want(t, "facts", j.Teardown().Soft || j.Teardown().KillFailed, false)
	})
}

// What the leader leaves is killed without a soft stop: at once when it holds
// no output.
func TestDirectRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		start := time.Now()
		j, _ := direct(t, tree, Direct{Linger: 5 * time.Second})
		tree.leave(0, 0)
		<-j.Done()
		want(t, "kills", tree.kills, 1)
		want(t, "signals", len(tree.sent()), 0)
		want(t, "waited", time.Since(start), 0)
	})
}

// What does not end is waited for as long as a busy machine may need, and then
// named.
func TestDirectGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := newFakeTree()
		slow.onKill = func(f *fakeTree) { time.AfterFunc(directBound-time.Second, func() { f.all(0, sys.SIGKILL) }) }
		j, _ := direct(t, slow, Direct{})
		j.End(ByKill, 0, true)
		<-j.Done()
		want(t, "failed", j.Teardown().KillFailed, false)

		stuck := newFakeTree()
		stuck.onKill = func(*fakeTree) {}
		stuck.survivors = []sys.Member{{ID: sys.ID{PID: 99}, Command: "nfs"}}
		start := time.Now()
		j, _ = direct(t, stuck, Direct{})
		j.End(ByKill, 0, true)
		<-j.Done()
		want(t, "failed", j.Teardown().KillFailed, true)
		want(t, "took", time.Since(start), directBound)
		want(t, "remaining", len(j.Teardown().Remaining), 1)
	})
}

// What holds an output may go on speaking until it lets go, or for a while.
func TestDirectLingers(t *testing.T) {
	for _, linger := range []time.Duration{time.Hour, time.Millisecond} {
		tree := newFakeTree()
		r, w, err := sys.NewPipe()
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		tree.onKill = func(f *fakeTree) { w.Close(); f.all(0, 0) }
		j, _ := direct(t, tree, Direct{Linger: linger,
			Outputs: []Output{{r, func(b []byte) { got = append(got, b...) }}}})
		tree.leave(0, 0)
		if linger == time.Hour {
			if _, err := io.WriteString(w, "last words"); err != nil {
				t.Fatal(err)
			}
			w.Close()
		}
		<-j.Done()
		want(t, "kills", tree.kills, 1)
		want(t, "ended by", j.Snapshot().EndedBy, ByExit)
		if linger == time.Hour {
			want(t, "read", string(got), "last words")
		}
	}
}

func TestDirectEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const by = EndedBy("clock")
		tree := newFakeTree()
		j, decided := direct(t, tree, Direct{})
		start := time.Now()
		j.End(by, time.Minute, false)
		synctest.Wait()
		want(t, "soft", slices.Equal(tree.sent(), []sys.Signal{sys.SIGTERM}), true)
		j.End("second", 0, true)
		<-j.Done()
		want(t, "decided", slices.Equal(*decided, []EndedBy{by}), true)
		want(t, "waited", time.Since(start), 0)
		f := j.Teardown()
		want(t, "escalated", f.Soft && f.Escalated && f.SoftErr == nil, true)
	})
	// No grace is a soft stop all the same.
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		j, _ := direct(t, tree, Direct{})
		j.End("clock", 0, false)
		<-j.Done()
		want(t, "soft", slices.Equal(tree.sent(), []sys.Signal{sys.SIGTERM}), true)
		want(t, "kills", tree.kills, 1)
	})
	// A tree that goes in time is not killed.
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		tree.onSignal = dies(sys.SIGTERM)
		j, _ := direct(t, tree, Direct{})
		j.End("clock", time.Minute, false)
		<-j.Done()
		want(t, "kills", tree.kills, 0)
		want(t, "escalated", j.Teardown().Escalated, false)
	})
}

// A forwarded signal is nobody's cause.
func TestDirectForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		tree.onSignal = dies(sys.SIGINT)
		j, decided := direct(t, tree, Direct{})
		if err := j.Forward(sys.SIGINT); err != nil {
			t.Fatal(err)
		}
		<-j.Done()
		want(t, "decided", slices.Equal(*decided, []EndedBy{BySignal}), true)
		want(t, "sent", slices.Equal(tree.sent(), []sys.Signal{sys.SIGINT}), true)
	})
}

// A tap that takes nothing holds an end of our own making for a while only,
// and a natural end until it is abandoned.
func TestDirectStalledTap(t *testing.T) {
	for _, natural := range []bool{true, false} {
		tree := newFakeTree()
		r, w, err := sys.NewPipe()
		if err != nil {
			t.Fatal(err)
		}
		stuck, release := make(chan struct{}), make(chan struct{})
		j, _ := direct(t, tree, Direct{Outputs: []Output{{r, func([]byte) {
			close(stuck)
			<-release
		}}}})
		if _, err := w.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		w.Close()
		<-stuck
		if natural {
			tree.all(0, 0)
			j.Abandon()
		} else {
			j.End("clock", 0, true)
		}
		select {
		case <-j.Done():
		case <-time.After(30 * time.Second):
			t.Error("still waits for the tap")
		}
		close(release)
	}
}
