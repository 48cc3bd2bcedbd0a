package daemon

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// storm has n goroutines do the same again and again, each to its first error, until
// still is called, which returns when they have ended.
func storm(t *testing.T, n int, do func() error) (still func()) {
	t.Helper()
	var over atomic.Bool
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for !over.Load() {
				if err := do(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() { over.Store(true); wg.Wait() }
}

func TestRestartAmongStarts(t *testing.T) {
	p := newPlay(t, Socket)
	ctx := ctxOf(t)
	still := storm(t, 3, func() error {
		_, err := New(p.config()).EnsureRunning(ctx)
		return err
	})
	d := New(p.config())
	last := ""
	for range 15 {
		info, err := d.Restart(ctx)
		if err != nil {
			t.Error(err)
			break
		}
		if info.Generation == last {
			t.Errorf("generation %s twice", last)
		}
		last = info.Generation
	}
	still()
}

// Looking never makes a start fail, and never calls a stopped daemon running.
func TestStatusStorm(t *testing.T) {
	p := newPlay(t, Socket)
	ctx := ctxOf(t)
	still := storm(t, 2, func() error {
		_, err := New(p.config()).Look(ctx)
		return err
	})
	defer still()
	d := New(p.config())
	for range 15 {
		if _, err := d.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := d.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if s, err := d.Look(ctx); err != nil || s.State != StateStopped {
			t.Fatalf("after Stop: %+v, %v", s, err)
		}
	}
}

// With next to no idle time every attach is served all the same.
func TestIdleChurn(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		p.Idle = time.Millisecond
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				d := New(p.config())
				for range 10 {
					conn, _, err := d.Dial(ctxOf(t))
					if err != nil {
						t.Error(err)
						return
					}
					if got := ask(t, conn, reader(conn), `{"jsonrpc":"2.0","id":1,"method":"x"}`); !strings.Contains(got, `"id":1`) {
						t.Errorf("the reply: %q", got)
					}
					conn.Close()
				}
			})
		}
		wg.Wait()
	})
}

// Starters go on while their daemon is killed again and again.
func TestKillStorm(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		ctx := ctxOf(t)
		pids := make(chan int, 1)
		still := storm(t, 6, func() error {
			info, err := New(p.config()).EnsureRunning(ctx)
			if err != nil {
				return err
			}
			select {
			case pids <- info.PID:
			default:
			}
			return nil
		})
		for range 10 {
			if id, err := sys.Identify(<-pids); err == nil {
				if err := sys.EndProcess(ctx, id); err != nil && !errors.Is(err, sys.ErrNoProcess) {
					t.Error(err)
				}
			}
		}
		still()
		ensured(t, New(p.config()))
	})
}
