package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	controlLimit = 30 * time.Second // of a request, its answer included
	maxBody      = 8 << 20          // bytes of an answer
	snippet      = 512              // bytes of an answer that go into an error
)

// ControlClient sends HTTP requests to a daemon that runs. It never starts one.
type ControlClient struct {
	d    *Daemon
	http *http.Client
}

// ControlClient gives a client for the daemon that the PID file names now. The
// error wraps ErrNotRunning when there is none to read.
func (d *Daemon) ControlClient() (*ControlClient, error) {
	if err := d.cfg.Validate(); err != nil {
		return nil, err
	}
	r, err := loadRecord(d.files.info)
	if err == nil && d.cfg.Transport != Socket && r.Port == 0 {
		err = errors.New("no port in it")
	}
	if err != nil {
		return nil, wrap("control", d.cfg.Name, fmt.Errorf("%w: PID file: %w", ErrNotRunning, err))
	}
	return &ControlClient{d: d, http: d.httpClient()}, nil
}

// httpClient speaks to the daemon alone, wherever it is at the moment. Every
// connection is of a daemon that proved to be ours before anything was sent.
func (d *Daemon) httpClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				c, _, err := d.door.dial(ctx)
				if err != nil {
					return nil, &dialError{err}
				}
				return c, nil
			},
			MaxIdleConnsPerHost: 4, IdleConnTimeout: controlLimit, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// dialError says that a request went nowhere.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// Get fetches a path, such as "/health". An answer that is not 2xx is an error
// that begins with its status and quotes its start; so is one over 8 MiB. A
// request takes at most 30 s.
func (c *ControlClient) Get(ctx context.Context, path string) ([]byte, error) {
	return c.do(ctx, http.MethodGet, path)
}

// Post is Get with the method POST and no body.
func (c *ControlClient) Post(ctx context.Context, path string) ([]byte, error) {
	return c.do(ctx, http.MethodPost, path)
}

func (c *ControlClient) do(ctx context.Context, method, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, controlLimit)
	defer cancel()
	req, err := c.d.request(ctx, method, path, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	case len(body) > maxBody:
		return nil, fmt.Errorf("%s %s: the answer is longer than %d bytes", method, path, maxBody)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, strings.TrimSpace(string(body[:min(len(body), snippet)])))
	}
	return body, nil
}

// request is one for the daemon, with what it asks for as proof.
func (d *Daemon) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("path %q must begin with a slash", path)
	}
	if t, ok := d.door.(*tcpDoor); ok {
		// What is read here goes to a connection that has proved to know it.
		if err := t.refresh(); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+d.door.host()+path, body)
	if err != nil {
		return nil, err
	}
	d.authorize(req)
	return req, nil
}
