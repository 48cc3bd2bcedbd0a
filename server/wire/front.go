package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/internal/workers"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Front serves connections from one set of tables. It is safe for concurrent use.
type Front struct {
	o      Options
	tools  map[string]*Tool
	routes map[string]route
	sdk    *mcp.Server
	stamp  stamp
	first  sync.Once
}

// New checks the tables and builds a Front. It refuses a tool without name,
// handler or input schema, two tools of one name, schemas that go-sdk refuses,
// and methods that the front or go-sdk serves itself.
func New(o Options) (*Front, error) {
	f := &Front{o: o, tools: make(map[string]*Tool, len(o.Tools)), routes: standard()}
	if o.Name == "" || o.Version == "" {
		return nil, errors.New("server needs a name and a version")
	}
	for _, t := range o.Tools {
		switch {
		case t.Name == "" || t.Handle == nil || t.InputSchema == nil:
			return nil, fmt.Errorf("tool %q lacks a name, a handler or an input schema", t.Name)
		case f.tools[t.Name] != nil:
			return nil, fmt.Errorf("tool %q is there twice", t.Name)
		}
		f.tools[t.Name] = &t
	}
	if err := addMethods(f.routes, o.Methods); err != nil {
		return nil, err
	}
	info, err := json.Marshal(implementation(o))
	if err != nil {
		return nil, fmt.Errorf("encode server info: %w", err)
	}
	f.stamp = newStamp(info)
	f.sdk, err = newServer(f, o)
	return f, err
}

const (
	defaultDrain = 2 * time.Second
	// handlerGrace is how long handlers whose context has ended may take to return.
	handlerGrace = time.Second
	// flushStall is how long a client may leave one Write untaken once its
	// input has ended, or is known to end when it was read so far.
	flushStall = 5 * time.Second
	// toldStall is the same once ctx has ended.
	toldStall = time.Second
)

// Serve serves one connection until its input ends (nil) or ctx ends (its
// cause). At the end of the input requests in flight are drained as
// Options.Drain says. When writing fails, replies are lost but requests are
// still served until the input ends, and the error is returned then; a client
// that stalls for Options.WriteTimeout ends the connection at once.
// Closing in and out is left to the caller. When Serve returns because of ctx
// and in has no SetReadDeadline, a Read of in may still be waiting.
func (f *Front) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return f.ServeConn(ctx, in, out, ConnOptions{})
}

// ServeConn is Serve for a connection that differs from others.
func (f *Front) ServeConn(ctx context.Context, in io.Reader, out io.Writer, o ConnOptions) error {
	// Handlers do not see the end of ctx itself: end tells the requests that
	// are still answered from those that are not.
	handlers, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(ErrClosed)
	c := &Conn{
		front: f, o: o, ctx: handlers, done: make(chan struct{}),
		flights: flights{byKey: map[string]*flight{}},
		workers: workers.New(maxIdle),
	}
	c.out = newOutbox(out, f.o.WriteTimeout, f.firstReply, c.flights.crowd)
	go c.out.run()
	over := make(chan struct{}) // nothing more is to be read
	input := make(chan error, 1)
	go func() { input <- c.read(in, over) }()

	var end error
	stalled := c.out.stalled
	select {
	case end = <-input:
		c.drain(ctx)
	case <-ctx.Done():
		end = context.Cause(ctx)
	case <-stalled:
		end = c.out.broken()
	}
	close(over)
	c.ending()
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && ctx.Err() != nil {
		// Best effort: sets the reading goroutine free where in can.
		_ = d.SetReadDeadline(time.Unix(1, 0))
	}
	c.end(stop)
	err := c.out.close(ctx, flushStall, toldStall)
	close(c.done)
	if end == nil {
		end = err
	}
	return end
}

// read serves lines until the input ends or over is closed.
func (c *Conn) read(in io.Reader, over <-chan struct{}) error {
	l := newLines(in)
	var on *ahead // once the client was slow to read
	for {
		line, err := l.next()
		if err == io.EOF {
			return nil
		}
		if err != nil && err != errLong {
			return fmt.Errorf("read request: %w", err)
		}
		c.work.Lock()
		if c.over {
			c.work.Unlock()
			return nil
		}
		if err != nil {
			c.refuse(CodeInvalidRequest, "Invalid Request: the line is longer than 16 MiB", nil)
		} else {
			c.serveLine(line)
		}
		c.work.Unlock()
		if c.out.waiting() > crowded {
			if on == nil {
				on = newAhead(in)
				l.in = on
			}
			on.begin()
			c.out.room(over, on.ended)
			on.rest()
		}
	}
}

// drain lets requests in flight end, for as long as the options say. Listens
// end at once.
func (c *Conn) drain(ctx context.Context) {
	d := c.front.o.Drain
	if c.o.Drain != nil {
		d = c.o.Drain()
	}
	if d == 0 {
		d = defaultDrain
	}
	quiet, empty := c.flights.drain()
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	for {
		select {
		case <-quiet:
			c.ending()
			quiet = nil
		case <-empty:
			return
		case <-t.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// ending tells that the connection will start nothing more.
func (c *Conn) ending() {
	if c.front.o.OnEnd != nil {
		c.told.Do(c.front.o.OnEnd)
	}
}

// end stops everything that serves the connection, listens with their
// response, the rest without.
func (c *Conn) end(stop context.CancelCauseFunc) {
	c.work.Lock()
	c.over = true
	c.work.Unlock()
	_, empty := c.flights.drain()
	c.flights.abandon(false)
	t := time.NewTimer(handlerGrace)
	defer t.Stop()
	select {
	case <-empty:
	case <-t.C:
		c.front.logf("requests are still in work %v after their connection ended", handlerGrace)
	}
	c.flights.abandon(true)
	stop(ErrClosed)
	for _, s := range c.sessions {
		if s == nil {
			continue
		}
		if err := s.end(); err != nil {
			c.front.logf("close session: %v", err)
		}
	}
}

func (f *Front) logf(format string, args ...any) {
	if f.o.Log != nil {
		f.o.Log(format, args...)
	}
}

func (f *Front) firstReply() {
	if f.o.OnFirstReply != nil {
		f.first.Do(func() { go f.o.OnFirstReply() })
	}
}
