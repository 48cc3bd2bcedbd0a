package ring

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestAwait(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
	}{
		{"publish", func(j *Job) { put(j.Stream(Stderr), []byte("x\n")) }},
		{"finish", func(j *Job) { j.Stream(Stdout).Finish() }},
		{"reclaim", func(j *Job) { j.Stream(Stdout).Reclaim() }},
		{"notify", (*Job).Notify},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := NewJob(Limits{}, nil)
				tests, changed := 0, false
				done := make(chan error)
				go func() {
					done <- j.Await(t.Context(), func() bool { tests++; return changed })
				}()
				synctest.Wait()
				before := tests
				j.Notify() // tested again, and asleep again
				synctest.Wait()
				if tests != before+1 {
					t.Errorf("tested %d times after a wake", tests-before)
				}
				changed = true
				synctest.Wait()
				if tests != before+1 {
					t.Errorf("tested without a wake")
				}
				c.change(j)
				if err := <-done; err != nil {
					t.Error(err)
				}
				if n := j.bell.waiters.Load(); n != 0 {
					t.Errorf("%d waiters left", n)
				}
			})
		})
	}
}

func TestAwaitWaitingTextWakesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := NewJob(Limits{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		tests := 0
		done := make(chan error)
		go func() { done <- j.Await(ctx, func() bool { tests++; return false }) }()
		synctest.Wait()
		before := tests
		put(j.Stream(Stdout), []byte("no newline"))
		synctest.Wait()
		if tests != before {
			t.Error("woken by text without a newline")
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAwaitAfterSleepsThroughEarlierLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := NewJob(Limits{}, nil)
		far, near := 0, 0 // tests of each
		woke := make(chan error, 2)
		go func() {
			woke <- j.AwaitAfter(t.Context(), 3, func() bool { far++; return j.Head(SelBoth) > 3 })
		}()
		synctest.Wait()
		before := far
		put(j.Stream(Stdout), []byte("1\n"))
		put(j.Stream(Stderr), []byte("2\n"))
		synctest.Wait()
		if far != before {
			t.Errorf("tested again by lines that it does not wait for")
		}
		j.Notify() // a change of another kind
		synctest.Wait()
		if far != before+1 {
			t.Errorf("tested %d times after Notify, want once", far-before)
		}
		go func() {
			woke <- j.AwaitAfter(t.Context(), 2, func() bool { near++; return j.Head(SelBoth) > 2 })
		}()
		synctest.Wait()
		put(j.Stream(Stderr), []byte("3\n"))
		if err := <-woke; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		put(j.Stream(Stdout), []byte("4\n"))
		if err := <-woke; err != nil {
			t.Error(err)
		}
		if near == 0 || j.Head(SelBoth) != 4 {
			t.Errorf("%d tests, head %d", near, j.Head(SelBoth))
		}
	})
}

func TestAwaitEndedContext(t *testing.T) {
	j := NewJob(Limits{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Await(ctx, func() bool { return true }); err != nil {
		t.Errorf("ready before the context counts: got %v", err)
	}
	if err := j.Await(ctx, func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestAwaitRelay passes a token between sleepers: one lost wake and it hangs.
func TestAwaitRelay(t *testing.T) {
	const players, rounds = 4, 2000
	j := NewJob(Limits{}, nil)
	var wg sync.WaitGroup
	for p := range players {
		s := j.Stream(Kind(p % 2))
		wg.Go(func() {
			for r := range rounds {
				turn := uint64(r*players + p)
				await := func(ready func() bool) error { return j.Await(t.Context(), ready) }
				if turn > 0 && r%2 == 0 {
					await = func(ready func() bool) error { return j.AwaitAfter(t.Context(), turn-1, ready) }
				}
				if err := await(func() bool { return j.Head(SelBoth) >= turn }); err != nil {
					t.Error(err)
					return
				}
				put(s, []byte("token\n"))
			}
		})
	}
	wg.Wait()
	if got := j.Head(SelBoth); got != players*rounds {
		t.Errorf("head %d", got)
	}
}
