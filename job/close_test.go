package job

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stubborn, soft := newFakeTree(), newFakeTree()
		soft.onSignal = dies(sys.SIGTERM)
		s, sp := fakeStore(t, Config{MaxRunning: ptr(2)}, stubborn, soft)
		a, b, queued := mustRun(t, s, sp), mustRun(t, s, sp), mustRun(t, s, sp)
		start := time.Now()
		s.Close(t.Context())
		want(t, "took", time.Since(start), 300*time.Millisecond)
		for j, sig := range map[*Job]string{a: "SIGKILL", b: "SIGTERM", queued: QueueDrained} {
			r := j.Snapshot()
			want(t, "state", r.State, Killed)
			want(t, "signal", r.Signal, sig)
			want(t, "ended_by", r.EndedBy, ByShutdown)
		}
		_, err := s.Run(t.Context(), sp)
		if re := (*RejectedError)(nil); !errors.As(err, &re) || re.Reason != RejectedClosing {
			t.Errorf("run after close: %v", err)
		}
	})
}

// The end of its context hastens a close; it abandons nothing.
func TestCloseHastened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		s, sp := fakeStore(t, Config{ShutdownGrace: ptr(time.Minute)}, tree)
		j := mustRun(t, s, sp)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		s.Close(ctx)
		want(t, "took", time.Since(start), time.Second)
		want(t, "signal", j.Snapshot().Signal, "SIGKILL")
	})
}
