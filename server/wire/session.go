package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is a go-sdk server session with the front as its client. Each era of
// a connection has its own: one session cannot serve both, because the first
// modern request makes it refuse initialize and initialize makes it answer
// modern requests in the legacy form (go-sdk v1.8.0).
type session struct {
	era    Era
	in     chan jsonrpc.Message
	closed chan struct{}
	once   sync.Once
	server *mcp.ServerSession

	mu    sync.Mutex
	last  int64
	calls map[int64]chan *jsonrpc.Response
}

// session returns the connection's session of an era.
func (c *Conn) session(era Era) (*session, error) {
	at := &c.sessions[era>>1]
	if *at == nil {
		s := &session{
			era: era, in: make(chan jsonrpc.Message), closed: make(chan struct{}),
			calls: map[int64]chan *jsonrpc.Response{},
		}
		var err error
		if s.server, err = c.front.sdk.Connect(context.WithoutCancel(c.ctx), s, nil); err != nil {
			return nil, fmt.Errorf("open session: %w", err)
		}
		*at = s
	}
	return *at, nil
}

// call sends a request to the session and waits for its result.
func (s *session) call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *Error) {
	s.mu.Lock()
	s.last++
	n := s.last
	reply := make(chan *jsonrpc.Response, 1)
	s.calls[n] = reply
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, n)
		s.mu.Unlock()
	}()
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return nil, &Error{Code: CodeInternal, Message: err.Error()}
	}
	if params == nil {
		params = json.RawMessage("{}")
	}
	req := &jsonrpc.Request{ID: id, Method: method, Params: params}
	for in := s.in; ; {
		select {
		case in <- req:
			in = nil
		case r := <-reply:
			if r.Error != nil {
				return nil, sdkError(r.Error)
			}
			return r.Result, nil
		case <-s.closed:
			return nil, &Error{Code: CodeInternal, Message: "the session has ended"}
		case <-ctx.Done():
			return nil, &Error{Code: CodeInternal, Message: "the connection has ended"}
		}
	}
}

// sdkError translates an error of go-sdk, which has code 0 for what its own
// checks refuse.
func sdkError(err error) *Error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code == 0 {
		return &Error{Code: CodeInvalidParams, Message: err.Error()}
	}
	out := &Error{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		out.Data = e.Data
	}
	return out
}

// end closes the session and waits until go-sdk has let go of it.
func (s *session) end() error {
	s.Close()
	return s.server.Close()
}

// Connect makes session the transport that go-sdk asks for.
func (s *session) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// SupportsProtocolVersion has server/discover name the revision that the
// envelope accepts and no other.
func (s *session) SupportsProtocolVersion(v string) bool {
	return (v == modernVersion) == (s.era == Modern)
}

// Read hands go-sdk the next request.
func (s *session) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-s.in:
		return m, nil
	case <-s.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write takes a reply of go-sdk. What it would send unasked is dropped: the
// front alone speaks to the client.
func (s *session) Write(_ context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	n, _ := r.ID.Raw().(int64)
	s.mu.Lock()
	reply := s.calls[n]
	s.mu.Unlock()
	if reply != nil {
		reply <- r
	}
	return nil
}

// Close ends the connection to go-sdk.
func (s *session) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// SessionID is empty: a byte stream has one session.
func (s *session) SessionID() string { return "" }

// forward has go-sdk answer a request.
func (c *Conn) forward(r *request) {
	result, e := c.ask(r)
	if e != nil {
		c.fail(r.id, e, r.batch)
		return
	}
	c.succeed(r.id, result, r.batch)
}

// initialize opens the legacy era. It is answered before the next line is
// read, so a script that sends everything at once finds the connection open.
func (c *Conn) initialize(r *request) {
	if !isString(member(r.message.params, "protocolVersion")) {
		c.fail(r.id, &Error{Code: CodeInvalidParams, Message: "params.protocolVersion is required and must be a string"}, r.batch)
		return
	}
	result, e := c.ask(r)
	if e != nil {
		c.fail(r.id, e, r.batch)
		return
	}
	c.version = string(unquotedValue(member(result, "protocolVersion")))
	c.legacyTasks = declaresTasks(member(r.message.params, "capabilities"))
	c.succeed(r.id, result, r.batch)
}

func (c *Conn) ask(r *request) (json.RawMessage, *Error) {
	s, err := c.session(r.era)
	if err != nil {
		return nil, &Error{Code: CodeInternal, Message: err.Error()}
	}
	return s.call(c.ctx, r.method, r.message.params)
}
