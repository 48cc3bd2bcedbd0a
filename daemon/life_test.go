package daemon

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

func TestIdleExit(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		p.Idle = 50 * time.Millisecond
		d := New(p.config())
		info := ensured(t, d)
		conn, _, err := d.Dial(ctxOf(t))
		if err != nil {
			t.Fatal(err)
		}
		// Over TCP a client says which process it is behind its request, and is
		// attached before that.
		until(t, "the client is known", func() bool {
			s, err := d.Status()
			if err != nil || s.Leases != 1 || len(s.Clients) != 1 {
				t.Fatalf("with a client: %+v, %v", s, err)
			}
			return s.Clients[0].PID == os.Getpid()
		})
		if body, err := get(t, d, "/slow?for=200ms"); err != nil || body != "whole" {
			t.Errorf("a request longer than the idle time: %q, %v", body, err)
		}
		if _, err := sys.Identify(info.PID); err != nil {
			t.Error("it left under a client")
		}
		conn.Close()
		gone(t, info.PID)
	})
}

func TestHold(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		d := New(p.config())
		info := ensured(t, d)
		if err := d.HoldFor(ctxOf(t), "tape change"); err != nil {
			t.Fatal(err)
		}
		if _, err := sys.Identify(info.PID); err == nil {
			t.Error("Hold left it running")
		}
		_, err := d.EnsureRunning(ctxOf(t))
		var he *HeldError
		if !errors.As(err, &he) || !errors.Is(err, ErrStopIntent) || he.Held.Reason != "tape change" || he.Held.By == "" || he.Held.Since.IsZero() {
			t.Errorf("while held: %v", err)
		}
		if s, err := d.Status(); err != nil || s.State != StateHeld || s.Held.Reason != "tape change" {
			t.Errorf("status: %+v, %v", s, err)
		}
		d.Release()
		ensured(t, d)
		if err := d.Stop(ctxOf(t)); err != nil {
			t.Fatal(err)
		}
		ensured(t, d) // Stop writes no marker
		if err := d.Hold(ctxOf(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Restart(ctxOf(t)); err != nil {
			t.Fatal(err)
		}
		if s, err := d.Status(); err != nil || s.Held != nil {
			t.Errorf("after Restart: %+v, %v", s, err)
		}
		if err := d.Hold(ctxOf(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Start(ctxOf(t)); err != nil {
			t.Errorf("Start under a hold: %v", err)
		}
		// A hold that is over forbids nothing.
		if err := d.HoldUntil(ctxOf(t), "", time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		ensured(t, d)
	})
}

// One build's daemon makes room for a newer one when nobody needs it.
func TestNewerReplacesIdleOlder(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		p.Version = "1.0.0"
		oldOne := New(p.config())
		first := ensured(t, oldOne)
		conn, hello, err := oldOne.Dial(ctxOf(t))
		if err != nil || hello.Version != "1.0.0" || hello.Session == "" {
			t.Fatalf("%+v, %v", hello, err)
		}
		p.Version = "1.1.0"
		newOne := New(p.config())
		if busy := ensured(t, newOne); busy.Generation != first.Generation {
			t.Error("an older daemon with a client was replaced")
		}
		conn.Close()
		until(t, "the client is gone", func() bool { s, err := newOne.Status(); return err == nil && s.Leases == 0 })
		second := ensured(t, newOne)
		if second.Generation == first.Generation || second.Version != "1.1.0" {
			t.Errorf("an idle older daemon was kept: %+v", second)
		}
		if again := ensured(t, oldOne); again.Generation != second.Generation {
			t.Error("a newer daemon was replaced by an older one")
		}
		c := p.config()
		c.Requires = []string{"wings"}
		if _, err := New(c).EnsureRunning(ctxOf(t)); !errors.Is(err, ErrVersion) {
			t.Errorf("a capability that no build has: %v", err)
		}
	})
}
