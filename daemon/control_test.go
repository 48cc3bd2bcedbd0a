package daemon

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
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
