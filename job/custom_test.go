package job

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

func TestCustomSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ignores, obeys, late := newFakeTree(), newFakeTree(), newFakeTree()
		obeys.onSignal = dies(sys.SIGINT)
		s, sp := fakeStore(t, Config{}, ignores, obeys, late)

		j := mustRun(t, s, sp)
		start := time.Now()
		if err := j.Kill(t.Context(), Kill{Signal: "SIGINT"}); err != nil {
			t.Fatal(err)
		}
		want(t, "waited", time.Since(start), signalWindow)
		r := j.Snapshot()
		want(t, "state", r.State, Running)
		want(t, "claims nothing", r.KillConfirmed == nil && r.Signal == "" && r.Ending == nil, true)

		k := mustRun(t, s, sp)
		if err := k.Kill(t.Context(), Kill{Signal: "sigint"}); err != nil {
			t.Fatal(err)
		}
		r = k.Snapshot()
		want(t, "state", r.State, Killed)
		want(t, "signal", r.Signal, "SIGINT")
		want(t, "both confirmed", isTrue(r.KillConfirmed) && isTrue(r.IdentityConfirmed), true)

		l := mustRun(t, s, sp)
		if err := l.Kill(t.Context(), Kill{Signal: "SIGINT"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		late.all(5, 0)
		<-l.Done()
		r = l.Snapshot()
		want(t, "state of one that ended later by itself", r.State, Exited)

		err := j.Kill(t.Context(), Kill{Signal: "SIGNOPE"})
		if ae := (*ArgumentError)(nil); !errors.As(err, &ae) || ae.Argument != "signal" {
			t.Errorf("unknown signal: %v", err)
		}
		want(t, "state", j.Snapshot().State, Running)
		s.Close(t.Context())
	})
}

// What an end soon after another signal is put down to.
func TestCustomSignalCause(t *testing.T) {
	for _, tc := range []struct {
		name   string
		signal string
		end    func(*fakeTree)
		state  State
		shown  string // signal
	}{
		{"a handler that exits", "SIGUSR1", func(t *fakeTree) { t.all(3, 0) }, Exited, ""},
		{"died of it", "SIGUSR1", func(t *fakeTree) { t.all(0, sys.SIGUSR1) }, Killed, "SIGUSR1"},
		{"an end that was asked for", "SIGINT", func(t *fakeTree) { t.all(0, 0) }, Killed, "SIGINT"},
		{"continued, then by itself", "SIGCONT", func(t *fakeTree) { t.all(3, 0) }, Exited, ""},
		{"of another signal", "SIGUSR1", func(t *fakeTree) { t.all(0, sys.SIGKILL) }, Killed, "SIGKILL"},
		{"leaves somebody", "SIGINT", func(t *fakeTree) { t.leave(0, sys.SIGINT) }, Killed, "SIGINT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tree := newFakeTree()
				custom, err := sys.ParseSignal(tc.signal)
				if err != nil {
					t.Skip(err)
				}
				tree.onSignal = func(f *fakeTree, s sys.Signal) {
					switch s {
					case custom:
						tc.end(f)
					case sys.SIGTERM:
						f.all(0, s)
					}
				}
				s, sp := fakeStore(t, Config{}, tree)
				j := mustRun(t, s, sp)
				if err := j.Kill(t.Context(), Kill{Signal: tc.signal}); err != nil {
					t.Fatal(err)
				}
				<-j.Done()
				r := j.Snapshot()
				want(t, "state", r.State, tc.state)
				want(t, "signal", r.Signal, tc.shown)
				s.Close(t.Context())
			})
		})
	}
}

// A custom signal ends what a leader left behind.
func TestCustomSignalAfterTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		tree.onSignal = dies(sys.SIGHUP)
		s, sp := fakeStore(t, Config{}, tree)
		sp.OnExit = Wait
		j := mustRun(t, s, sp)
		tree.leave(3, 0)
		synctest.Wait()
		if err := j.Kill(t.Context(), Kill{Signal: "SIGHUP"}); err != nil {
			t.Fatal(err)
		}
		r := j.Snapshot()
		want(t, "state", r.State, Killed)
		want(t, "signal", r.Signal, "SIGHUP")
		if r.LeaderExit == nil || *r.LeaderExit.Code != 3 {
			t.Errorf("leader exit: %+v", r.LeaderExit)
		}
		s.Close(t.Context())
	})
}
