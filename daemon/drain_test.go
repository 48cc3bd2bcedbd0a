package daemon

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// A request that watches its context ends with its own reply in a drain.
func TestDrainLetsRequestsFinish(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		d := New(p.config())
		info := ensured(t, d)
		reply := make(chan error, 1)
		var body string
		go func() {
			var err error
			body, err = get(t, d, "/slow?for=700ms")
			reply <- err
		}()
		untilBusy(t, d)
		stopped := make(chan error, 1)
		go func() { stopped <- d.Stop(ctxOf(t)) }()
		until(t, "it drains", func() bool {
			s, err := d.Status()
			if err != nil {
				t.Fatal(err)
			}
			return s.State == StateDraining
		})
		if _, err := get(t, d, "/echo"); err == nil {
			t.Error("a request was taken while it drains")
		}
		// A starter waits for the end and gets the next one.
		next := ensured(t, d)
		if next.Generation == info.Generation || next.State != StateRunning {
			t.Errorf("a starter got %+v", next)
		}
		if err := <-reply; err != nil || body != "whole" {
			t.Errorf("the request's reply: %q, %v", body, err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// What ignores everything is left after the budget and a fifth of it.
func TestDrainBudget(t *testing.T) {
	p := newPlay(t, Socket)
	p.Shutdown = 200 * time.Millisecond
	d := New(p.config())
	info := ensured(t, d)
	reply := make(chan error, 2)
	for _, path := range []string{"/stubborn", "/slow?for=60s"} {
		go func() { _, err := get(t, d, path); reply <- err }()
	}
	untilBusy(t, d)
	if err := d.Stop(ctxOf(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := sys.Identify(info.PID); err == nil {
		t.Error("it is still there")
	}
	for range 2 {
		if err := <-reply; err == nil {
			t.Error("a request that was cut has a good reply")
		}
	}
	ensured(t, d)
}

func TestStopDeadlineKillsNothing(t *testing.T) {
	p := newPlay(t, Socket)
	d := New(p.config())
	info := ensured(t, d)
	reply := make(chan string, 1)
	go func() { b, _ := get(t, d, "/slow?for=1s"); reply <- b }()
	untilBusy(t, d)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := d.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop: %v", err)
	}
	if _, err := sys.Identify(info.PID); err != nil {
		t.Error("the deadline ended it")
	}
	if got := <-reply; got != "whole" {
		t.Errorf("the request's reply: %q", got)
	}
	gone(t, info.PID)
}

// untilBusy waits until a daemon says that a request is in work.
func untilBusy(t *testing.T, d *Daemon) {
	t.Helper()
	until(t, "it is busy", func() bool {
		l, err := d.connect(ctxOf(t), greeting{Role: roleControl})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.hello.Busy
	})
}
