package registry

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys/systest"
)

func find(t *testing.T, r *Registry, id string) Entry {
	t.Helper()
	e, err := r.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// guarded bounds a wait that should end by itself.
func guarded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestWaitEnd(t *testing.T) {
	r := fresh(t)
	for name, finish := range map[string]func(*runner, *testing.T){
		"killed": (*runner).kill,
		"ended":  (*runner).end,
	} {
		run := start(t, r, name, "")
		e := find(t, r, name)
		over := make(chan error, 2)
		for range cap(over) { // waiters do not disturb each other
			go func() { over <- e.WaitEnd(guarded(t)) }()
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := e.WaitEnd(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: the wait for a live run ended with %v", name, err)
		}
		cancel()
		finish(run, t)
		for range cap(over) {
			if err := <-over; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := e.WaitEnd(t.Context()); err != nil {
			t.Errorf("%s, after the end: %v", name, err)
		}
	}
}

// What cannot be probed is no end.
func TestWaitUnprobed(t *testing.T) {
	r := fresh(t)
	_, lock := plant(t, r, "run-1", encoded(t, "a", "run-1"))
	if err := errors.Join(os.Remove(lock), os.Mkdir(lock, 0o700)); err != nil {
		t.Fatal(err)
	}
	l, err := r.List()
	if err != nil || len(l.Entries) != 1 {
		t.Fatalf("%+v %v", l, err)
	}
	over := make(chan error, 1)
	go func() { over <- l.Entries[0].WaitEnd(guarded(t)) }()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := l.Entries[0].WaitEnd(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Errorf("%v", err)
	}
}

func TestWaitKnown(t *testing.T) {
	systest.SkipUnderWine(t, "symbolic links lead nowhere")
	r := fresh(t)
	path := r.path("run-1.json")
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Skip(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.WaitKnown(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	known := make(chan error, 1)
	go func() { _, err := r.WaitKnown(guarded(t)); known <- err }()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := <-known; err != nil {
		t.Error(err)
	}
}

// Runs come and go while others list, prune and wait: no live run is ever lost
// or shown as stale, and nothing is left.
func TestComeAndGo(t *testing.T) {
	r := fresh(t)
	const publishers, runs = 8, 25
	ctx, stop := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				l, err := r.List()
				if err != nil || l.Unreadable > 0 {
					t.Errorf("%d unreadable, %v", l.Unreadable, err)
				}
				for _, e := range l.Entries {
					if e.Health != Live {
						t.Errorf("%s is shown as %s", e.RunID, e.Health)
					}
				}
				if len(l.Entries) > 0 {
					if err := l.Entries[0].WaitEnd(guarded(t)); err != nil {
						t.Error(err)
					}
				}
			}
		})
		readers.Go(func() {
			for ctx.Err() == nil {
				p, err := r.Prune(PruneOptions{})
				if err != nil || p.Pruned+p.OrphanedLocks+p.Unprobed > 0 {
					t.Errorf("%+v %v", p, err)
				}
			}
		})
	}
	for range publishers {
		writers.Go(func() {
			for range runs {
				p, err := r.Publish(Record{RunID: "a", StartedAt: time.Now()})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Lstat(p.Path()); err != nil {
					t.Error(err)
				}
				if err := p.Remove(Outcome{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	if left := files(t, r); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if ended, err := r.Ended("a"); err != nil || len(ended) != publishers*runs {
		t.Errorf("%d tombstones, %v", len(ended), err)
	}
}
