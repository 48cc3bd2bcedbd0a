//go:build unix

package daemon

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// A hold over a daemon that does not stop is no success, and says who answers.
func TestHoldVerifies(t *testing.T) {
	p := newPlay(t, Socket)
	d := New(p.config())
	info := ensured(t, d)
	freeze(t, d, info.PID)
	defer syscall.Kill(info.PID, syscall.SIGCONT)
	err := d.HoldFor(ctxOf(t), "x")
	if !errors.Is(err, ErrUnhealthy) || !strings.Contains(err.Error(), itoa(info.PID)) {
		t.Errorf("%v", err)
	}
	if s, err := d.Status(); err != nil || s.State != StateUnresponsive || s.PID != info.PID || s.Held == nil {
		t.Errorf("status: %+v, %v", s, err)
	}
}

// A stopped daemon is found out, named and not doubled; Stop ends it by identity.
func TestUnresponsive(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		d := New(p.config())
		info := ensured(t, d)
		freeze(t, d, info.PID)
		_, err := d.EnsureRunning(ctxOf(t))
		var ue *UnresponsiveError
		if !errors.As(err, &ue) || ue.ID.PID != info.PID {
			t.Errorf("EnsureRunning: %v", err)
		}
		if _, err := d.RestartGently(ctxOf(t)); !errors.Is(err, ErrUnhealthy) {
			t.Errorf("RestartGently: %v", err)
		}
		next, err := d.Restart(ctxOf(t))
		if err != nil || next.Generation == info.Generation {
			t.Fatalf("Restart: %+v, %v", next, err)
		}
		if _, err := sys.Identify(info.PID); err == nil {
			t.Error("the old one is still there")
		}
	})
}

// freeze stops a daemon, which takes effect at some time after the signal.
func freeze(t *testing.T, d *Daemon, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "it stops", func() bool { s, err := d.Status(); return err == nil && s.State == StateUnresponsive })
}
