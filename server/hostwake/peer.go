package hostwake

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// writeLimit bounds writing a line to an app-server that does not read.
const writeLimit = 5 * time.Second

// longestLine bounds a line of the app-server, in bytes.
const longestLine = 16 << 20

// errHungUp is the end of what the app-server says.
var errHungUp = errors.New("the app-server hung up")

// message is a line of either side. A request has a method and an id, a
// notification a method, a reply an id.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// peer speaks newline-delimited JSON-RPC. One goroutine reads lines into a
// channel, and whoever converses takes them from there one by one: two messages
// that arrive in one read are two messages.
type peer struct {
	out    io.Writer
	in     chan message
	left   chan struct{} // closed by leave
	once   sync.Once
	lastID int
	hear   func(message) // sees every notification, in order
}

func newPeer(in io.Reader, out io.Writer, hear func(message)) *peer {
	p := &peer{out: out, in: make(chan message), left: make(chan struct{}), hear: hear}
	go p.read(in)
	return p
}

func (p *peer) read(in io.Reader) {
	defer close(p.in)
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), longestLine)
	for s.Scan() {
		var m message
		if json.Unmarshal(s.Bytes(), &m) != nil {
			continue // a line of a program's log among the messages
		}
		select {
		case p.in <- m:
		case <-p.left:
			return
		}
	}
}

// leave ends reading: nobody takes messages any more.
func (p *peer) leave() { p.once.Do(func() { close(p.left) }) }

// next gives the next reply. Notifications are heard on the way, and what the
// app-server asks us is declined, so that it does not wait for an answer.
// hung is errHungUp at the end, or what ended ctx.
func (p *peer) next(ctx context.Context) (reply message, ok bool, hung error) {
	select {
	case m, open := <-p.in:
		switch {
		case !open:
			return message{}, false, errHungUp
		case m.Method == "":
			return m, true, nil
		case m.ID != nil:
			return message{}, false, p.send(message{ID: m.ID, Error: &rpcError{
				Code: -32601, Message: "this client answers no requests"}})
		}
		p.hear(m)
		return message{}, false, nil
	case <-ctx.Done():
		return message{}, false, context.Cause(ctx)
	}
}

// call sends a request and waits for its reply.
func (p *peer) call(ctx context.Context, method string, params, result any) error {
	p.lastID++
	id := strconv.Itoa(p.lastID)
	if err := p.request(json.RawMessage(id), method, params); err != nil {
		return err
	}
	for {
		m, ok, err := p.next(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", method, err)
		case !ok || string(m.ID) != id:
			continue
		case m.Error != nil:
			return fmt.Errorf("%s: %w", method, m.Error)
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: read the reply: %w", method, err)
		}
		return nil
	}
}

func (p *peer) notify(method string) error { return p.request(nil, method, struct{}{}) }

func (p *peer) request(id json.RawMessage, method string, params any) error {
	b, err := line(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := p.send(message{ID: id, Method: method, Params: b}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func (p *peer) send(m message) error {
	m.JSONRPC = "2.0"
	b, err := line(m)
	if err != nil {
		return err
	}
	if out, ok := p.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
		// Best effort: the pipes of some systems have no deadlines.
		_ = out.SetWriteDeadline(time.Now().Add(writeLimit))
	}
	_, err = p.out.Write(b)
	return err
}
