package hostwake

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys/systest"
)

func appServer(t *testing.T, mode string) *AppServer {
	t.Helper()
	_, argv, _ := systest.Command("app-server", mode)
	a := NewAppServer("1.2.3", argv...)
	t.Cleanup(a.Close)
	return a
}

func TestAppServer(t *testing.T) {
	for _, c := range []struct {
		mode      string
		result    Result
		permanent bool
		detail    string
	}{
		{"plain", Delivered, false, "turn"},
		{"one-write", Delivered, false, "turn"},
		{"all-at-once", Delivered, false, "turn"},
		{"early", Delivered, false, "turn"},
		{"noisy", Delivered, false, "turn"},
		{"pages", Delivered, false, "turn"},
		{"error", Refused, false, "no such thread"},
		{"dies", Refused, false, "hung up"},
		{"no-goals", Unavailable, true, "goals"},
		{"dead", Unavailable, false, "initialize: "},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			a := appServer(t, c.mode)
			want(t, a.Thread("T-1").Wake(t.Context(), "job <1> ended"), c.result, c.permanent, c.detail)
			// All that ends by itself has ended without Close.
			a.live.Wait()
		})
	}
}

func TestAppServerMissing(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{nil, {"belfry-no-such-program"}, {filepath.Join(t.TempDir(), "none")}} {
		a := NewAppServer("1.2.3", command...)
		want(t, a.Thread("T-1").Wake(t.Context(), "x"), Unavailable, true, "start the app-server")
		a.Close()
	}
	a := NewAppServer("1.2.3", t.TempDir()) // there, and no program
	want(t, a.Thread("T-1").Wake(t.Context(), "x"), Unavailable, false, "start the app-server")
	a.Close()
}

// Close ends a turn that runs, by force if need be, and what comes later.
func TestAppServerClose(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"working", "deaf"} {
		a := appServer(t, mode)
		want(t, a.Thread("T-1").Wake(t.Context(), "job <1> ended"), Delivered, false, "turn")
		a.Close()
		want(t, a.Thread("T-1").Wake(t.Context(), "job <1> ended"), Threw, false, errClosed.Error())
	}
}

// A thread has one app-server at a time, and one thread does not hold up another.
func TestAppServerTakesTurns(t *testing.T) {
	t.Parallel()
	a := appServer(t, "working")
	want(t, a.Thread("T-1").Wake(t.Context(), "job <1> ended"), Delivered, false, "turn")
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	want(t, a.Thread("T-1").Wake(short, "job <1> ended"), Threw, false, context.DeadlineExceeded.Error())
	want(t, a.Thread("T-2").Wake(t.Context(), "job <1> ended"), Refused, false, "T-2") // the fake knows T-1 alone
	waiting := make(chan Outcome, 1)
	go func() { waiting <- a.Thread("T-1").Wake(context.Background(), "x") }()
	a.Close()
	want(t, <-waiting, Threw, false, errClosed.Error())

	b := appServer(t, "plain")
	outcomes := make(chan Outcome)
	for range 3 {
		go func() { outcomes <- b.Thread("T-1").Wake(context.Background(), "job <1> ended") }()
	}
	for range 3 {
		want(t, <-outcomes, Delivered, false, "turn")
	}
	b.live.Wait()
	if len(b.busy) != 0 {
		t.Errorf("%d threads are busy with nothing", len(b.busy))
	}
}

func TestAppServerCloseDuringAttempt(t *testing.T) {
	t.Parallel()
	a := appServer(t, "silent")
	outcome := make(chan Outcome, 1)
	go func() { outcome <- a.Thread("T-1").Wake(context.Background(), "x") }()
	a.Close()
	select {
	case o := <-outcome:
		want(t, o, Threw, false, errClosed.Error())
	case <-time.After(time.Minute):
		t.Fatal("the attempt outlived the transport")
	}
}
