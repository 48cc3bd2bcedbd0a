package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is returned by a call whose server closed its end before it
// answered.
var ErrClosed = errors.New("the server hung up")

// Client speaks to one server. Its methods are safe for concurrent use.
type Client struct {
	out     io.WriteCloser
	writing sync.Mutex
	lastID  atomic.Int64
	process *process // nil when the streams were handed over

	mu       sync.Mutex
	waiting  map[string]*Pending // by the id as it is written
	strays   []string
	refusals chan Error
	notified func(method string, params json.RawMessage)
	pause    chan struct{} // closed by Resume; nil while there is none

	done chan struct{} // closed when the server's stream has ended
}

// New makes a client that reads what the server says from in and writes to
// out. It reads until in ends.
func New(in io.Reader, out io.WriteCloser) *Client {
	c := &Client{
		out:      out,
		waiting:  map[string]*Pending{},
		refusals: make(chan Error, 1024),
		done:     make(chan struct{}),
	}
	go c.read(in)
	return c
}

// OnNotification sets what is called with each notification, in order, by the
// goroutine that reads: it must not wait for a reply. Set it before Open.
func (c *Client) OnNotification(f func(method string, params json.RawMessage)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notified = f
}

// Done is closed when the server's stream has ended and every reply that was
// in it has been given out.
func (c *Client) Done() <-chan struct{} { return c.done }

// Strays are the lines that no server should send: not JSON, not JSON-RPC, or
// a reply that nobody waits for, such as a second one or one to a cancelled
// request. Each is cut to 200 bytes; the first 100 are kept.
func (c *Client) Strays() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.strays...)
}

// Refusals gives the errors with id null: the server's answers to lines that
// it could not take for a request. It holds 1,024; more are dropped.
func (c *Client) Refusals() <-chan Error { return c.refusals }

// Pause makes a client that does not read, until Resume. What has been read
// already, one line and a buffer of 64 KiB, is still given out.
func (c *Client) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pause == nil {
		c.pause = make(chan struct{})
	}
}

// Resume ends a Pause.
func (c *Client) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pause != nil {
		close(c.pause)
		c.pause = nil
	}
}

func (c *Client) awaitResume() {
	c.mu.Lock()
	pause := c.pause
	c.mu.Unlock()
	if pause != nil {
		<-pause
	}
}

// Error is a JSON-RPC error.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Reply is the answer to one request: Result, or Err when it is not nil.
type Reply struct {
	Result json.RawMessage
	Err    *Error
	Size   int           // bytes of the whole line, its newline included
	Took   time.Duration // from before the request was written
}

// Pending is a request on its way.
type Pending struct {
	ID string // as it is written: a JSON number or string

	begin time.Time
	done  chan struct{}
	reply Reply
	err   error
}

// Done is closed when the reply is there, or when there will be none.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait gives the reply. A JSON-RPC error is in the Reply and not an error of
// Wait, which are ErrClosed, that of ctx, and ErrCancelled.
func (p *Pending) Wait(ctx context.Context) (Reply, error) {
	select {
	case <-p.done:
		return p.reply, p.err
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
}

// message is a line of either side.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
}

// Send sends a request under a number of the client's own.
func (c *Client) Send(method string, params any) (*Pending, error) {
	return c.SendID(strconv.FormatInt(c.lastID.Add(1), 10), method, params)
}

// SendID sends a request under an id given as JSON. It must not be in use.
func (c *Client) SendID(id, method string, params any) (*Pending, error) {
	line, err := json.Marshal(message{JSONRPC: "2.0", ID: json.RawMessage(id), Method: method, Params: params})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	p := &Pending{ID: id, begin: time.Now(), done: make(chan struct{})}
	c.mu.Lock()
	c.waiting[id] = p
	c.mu.Unlock()
	if err := c.WriteLine(line); err != nil {
		c.forget(id)
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-c.done:
		// The stream may have ended before the request was entered.
		c.settle(id, Reply{}, ErrClosed)
	default:
	}
	return p, nil
}

// ErrCancelled is what waiting for a cancelled request gives.
var ErrCancelled = errors.New("the request was cancelled")

// Cancel takes a request back. A reply that comes all the same is a stray.
func (c *Client) Cancel(p *Pending) error {
	c.settle(p.ID, Reply{}, ErrCancelled)
	return c.Notify("notifications/cancelled", map[string]any{"requestId": json.RawMessage(p.ID)})
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	line, err := json.Marshal(message{JSONRPC: "2.0", Method: method, Params: params})
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return c.WriteLine(line)
}

// WriteLine writes one line as it is, and its newline.
func (c *Client) WriteLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// Call sends a request, waits for its reply and decodes the result into
// result, unless that is nil. A JSON-RPC error is a *Error.
func (c *Client) Call(ctx context.Context, method string, params, result any) (Reply, error) {
	p, err := c.Send(method, params)
	if err != nil {
		return Reply{}, err
	}
	r, err := p.Wait(ctx)
	switch {
	case err != nil:
		return r, fmt.Errorf("%s: %w", method, err)
	case r.Err != nil:
		return r, fmt.Errorf("%s: %w", method, r.Err)
	case result == nil:
		return r, nil
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		return r, fmt.Errorf("%s: decode the result: %w", method, err)
	}
	return r, nil
}

// read gives every line to whom it is for.
func (c *Client) read(in io.Reader) {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		c.awaitResume()
		line, err := lines.ReadBytes('\n')
		if err == nil || len(line) > 0 {
			c.take(line)
		}
		if err != nil {
			break
		}
	}
	close(c.done)
	c.mu.Lock()
	left := make([]string, 0, len(c.waiting))
	for id := range c.waiting {
		left = append(left, id)
	}
	c.mu.Unlock()
	for _, id := range left {
		c.settle(id, Reply{}, ErrClosed)
	}
}

func (c *Client) take(line []byte) {
	var m struct {
		JSONRPC string
		ID      json.RawMessage
		Method  string
		Params  json.RawMessage
		Result  json.RawMessage
		Error   *Error
	}
	if json.Unmarshal(line, &m) != nil || m.JSONRPC != "2.0" {
		c.stray(line)
		return
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	switch {
	case m.Method != "" && m.ID == nil:
		c.mu.Lock()
		f := c.notified
		c.mu.Unlock()
		if f != nil {
			f(m.Method, m.Params)
		}
	case m.Error != nil && m.ID == nil:
		select {
		case c.refusals <- *m.Error:
		default:
		}
	case m.Method != "" || m.ID == nil:
		c.stray(line)
	case !c.settle(string(m.ID), Reply{Result: m.Result, Err: m.Error, Size: len(line)}, nil):
		c.stray(line)
	}
}

// settle ends the waiting for an id, once; false means that nobody waits.
func (c *Client) settle(id string, r Reply, err error) bool {
	p := c.forget(id)
	if p == nil {
		return false
	}
	r.Took = time.Since(p.begin)
	p.reply, p.err = r, err
	close(p.done)
	return true
}

func (c *Client) forget(id string) *Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.waiting[id]
	delete(c.waiting, id)
	return p
}

func (c *Client) stray(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.strays) < 100 {
		c.strays = append(c.strays, string(line[:min(len(line), 200)]))
	}
}
