package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// link is a connection to a daemon that has said hello.
type link struct {
	conn  net.Conn
	r     *bufio.Reader // what came behind the hello is in it
	hello Hello
	id    sys.ID // who listens; compared before anything is done by it
}

func (l *link) Close() error { return l.conn.Close() }

// gone waits until the daemon has closed the connection, which it does last of
// all, or ctx ends.
func (l *link) gone(ctx context.Context) error {
	stop := closeOnEnd(ctx, l.conn)
	defer stop()
	// Best effort: whatever ends the reading, the connection is over.
	_, _ = io.Copy(io.Discard, l.r)
	return ctx.Err()
}

// connect dials and says hello within helloLimit. Its errors are those that
// classify gives.
func (d *Daemon) connect(ctx context.Context, g greeting) (*link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	c, id, err := d.door.dial(limited)
	if err != nil {
		return nil, d.classify(ctx, limited, id, err)
	}
	l, err := d.greet(limited, c, g)
	if err != nil {
		c.Close()
		return nil, d.classify(ctx, limited, id, err)
	}
	if id.PID != 0 {
		l.id = id // what the kernel or the PID file says, rather than the daemon
	}
	l.hello.name, l.hello.log = d.cfg.Name, d.files.log
	return l, nil
}

func (d *Daemon) greet(ctx context.Context, c net.Conn, g greeting) (*link, error) {
	stop := closeOnEnd(ctx, c)
	req, err := http.NewRequest(http.MethodGet, "http://"+d.door.host()+"/daemon/attach", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", upgradeToken)
	req.Header.Set(roleHeader, g.Role)
	d.authorize(req)
	g.Protocol, g.Version, g.PID = d.cfg.protocol, d.cfg.Version, os.Getpid()
	w := bufio.NewWriter(c)
	if err := req.Write(w); err != nil {
		return nil, err
	}
	if err := writeMessage(w, g); err != nil {
		return nil, err
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(c, 32<<10)
	res, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	switch res.StatusCode {
	case http.StatusSwitchingProtocols:
	case http.StatusServiceUnavailable:
		return nil, ErrDraining
	default:
		return nil, fmt.Errorf("%w: it answers %q to an attach", errForeign, res.Status)
	}
	var line helloLine
	if err := readMessage(r, &line); err != nil {
		return nil, err
	}
	l := &link{conn: c, r: r, hello: line.Hello, id: line.Identity.id()}
	if l.hello.Generation == "" {
		return nil, errForeign
	}
	if !stop() {
		return nil, ctx.Err()
	}
	return l, nil
}

// authorize adds the token to a request for a connection that was proved.
func (d *Daemon) authorize(req *http.Request) {
	if t, ok := d.door.(*tcpDoor); ok {
		req.Header.Set("Authorization", "Bearer "+t.bearer())
	}
}

// classify says what a failed attempt means: errNobody, which alone leads to a
// start; ErrDraining; *UnresponsiveError; the caller's own deadline; and
// ErrUnavailable for all else.
func (d *Daemon) classify(ctx, limited context.Context, id sys.ID, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errNobody), errors.Is(err, ErrDraining):
		return err
	case limited.Err() != nil, errors.Is(err, syscall.EAGAIN):
		// EAGAIN: the queue of a socket that nobody accepts from is full.
		return &UnresponsiveError{ID: id}
	case closedEarly(err):
		return fmt.Errorf("%w: %w", errNobody, err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fmt.Errorf("%w: the path of the socket is too long: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// closedEarly reports an end of the connection: the daemon left between the
// connect and the hello.
func closedEarly(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		sys.HungUp(err)
}

// DialOptions say who attaches.
type DialOptions struct {
	// Role is shown by Status; "" is "client".
	Role string
	// Meta goes to the daemon's Config.Stream (Client.Meta); it is encoded as JSON.
	Meta any
}

const roleHeader = "Belfry-Role"

// dialPause is between two looks for a daemon that is on its way in or out,
// where no event can be waited for.
const dialPause = 10 * time.Millisecond

func pause(ctx context.Context) error {
	t := time.NewTimer(dialPause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
