package daemon

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// get sends a request to the application of a daemon.
func get(t *testing.T, d *Daemon, path string) (string, error) {
	t.Helper()
	c, err := d.ControlClient()
	if err != nil {
		return "", err
	}
	defer c.http.CloseIdleConnections()
	b, err := c.Get(ctxOf(t), path)
	return string(b), err
}

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
		until(t, "the request is in work", func() bool {
			l, err := d.connect(ctxOf(t), greeting{Role: roleControl})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			return l.hello.Busy
		})
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
	until(t, "it is busy", func() bool {
		l, err := d.connect(ctxOf(t), greeting{Role: roleControl})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.hello.Busy
	})
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
	until(t, "it is busy", func() bool {
		l, err := d.connect(ctxOf(t), greeting{Role: roleControl})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.hello.Busy
	})
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

func TestRestartAmongStarts(t *testing.T) {
	p := newPlay(t, Socket)
	ctx := ctxOf(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := New(p.config()).EnsureRunning(ctx); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
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
	close(stop)
	wg.Wait()
}

// Looking never makes a start fail, and never calls a stopped daemon running.
func TestStatusStorm(t *testing.T) {
	p := newPlay(t, Socket)
	ctx := ctxOf(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := New(p.config()).Look(ctx); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
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
	close(stop)
	wg.Wait()
}

func TestControlClient(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		d := New(p.config())
		if _, err := d.ControlClient(); !errors.Is(err, ErrNotRunning) {
			t.Errorf("without a daemon: %v", err)
		}
		info := ensured(t, d)
		if b, err := get(t, d, "/health"); err != nil || !strings.Contains(b, itoa(info.PID)) {
			t.Errorf("health: %q, %v", b, err)
		}
		if _, err := get(t, d, "/nowhere"); err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("a path that is not there: %v", err)
		}
		c, err := d.ControlClient()
		if err != nil {
			t.Fatal(err)
		}
		defer c.http.CloseIdleConnections()
		if _, err := c.Post(ctxOf(t), "/daemon/shutdown"); err != nil {
			t.Error(err)
		}
		gone(t, info.PID)
	})
}

func TestControlClientBounds(t *testing.T) {
	onBoth(t, func(t *testing.T, p play) {
		mux := http.NewServeMux()
		mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
			io.CopyN(w, zeros{}, maxBody+1)
		})
		mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/health", http.StatusFound) })
		mux.HandleFunc("/bad", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("why ", 10000), http.StatusTeapot)
		})
		d := serveHere(t, p.config(), mux)
		for path, want := range map[string]string{"/long": "longer than", "/elsewhere": "302", "/bad": "418"} {
			_, err := get(t, d, path)
			if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 2000 {
				t.Errorf("%s: %.300v", path, err)
			}
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// serveHere runs a daemon in this process.
func serveHere(t *testing.T, c Config, h http.Handler) *Daemon {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, c, h) }()
	d := New(c)
	until(t, "it serves", d.IsRunning)
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return d
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
