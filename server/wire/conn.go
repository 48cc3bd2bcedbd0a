package wire

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/belfry-dev/belfry/internal/workers"
)

// maxIdle is how many goroutines of a connection wait for their next request.
const maxIdle = 32

// ErrClosed says that the connection, or the request a notification belongs
// to, is over.
var ErrClosed = errors.New("connection is closed")

// ErrBacklog says that a notification was not sent because the client is not
// reading: too many bytes wait for it already.
var ErrBacklog = errors.New("client does not read")

// Conn is one connection, as handlers see it. It is safe for concurrent use.
type Conn struct {
	front   *Front
	o       ConnOptions
	ctx     context.Context // of every handler; ends with the connection
	out     *outbox
	flights flights
	workers *workers.Pool
	done    chan struct{}
	told    sync.Once // OnEnd was called

	// work is held while a line is served. over, under it, keeps a line that
	// arrives after the end of the connection from being served.
	work sync.Mutex
	over bool

	// What follows belongs to the goroutine that holds work.
	sessions    [2]*session // by era; nil until needed
	version     string      // negotiated by initialize, "" before its reply
	ready       bool        // notifications/initialized was seen
	legacyTasks bool        // the client declared the Tasks extension at initialize

	mu     sync.Mutex
	values map[any]any
}

// Notify queues a notification; params is an object or nil. It never blocks:
// ErrBacklog says that the client does not read, ErrClosed that the connection
// has ended.
func (c *Conn) Notify(method string, params json.RawMessage) error {
	select {
	case <-c.done:
		return ErrClosed
	default:
	}
	if c.out.waiting() > crowded {
		return ErrBacklog
	}
	line := newBuffer()
	*line = appendNotification(*line, method, params)
	c.out.put(line)
	return nil
}

// Tag is that of the connection's options; nil without a connection.
func (c *Conn) Tag() any {
	if c == nil {
		return nil
	}
	return c.o.Tag
}

// Context ends when the connection does.
func (c *Conn) Context() context.Context { return c.ctx }

// Room waits until Notify would not say ErrBacklog, which another notification
// may prevent again. It returns the error of ctx, or ErrClosed. Without a
// connection there is room.
func (c *Conn) Room(ctx context.Context) error {
	if c.out == nil {
		return nil
	}
	for {
		eased := c.out.easing()
		if eased == nil {
			return nil
		}
		select {
		case <-eased:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
			return ErrClosed
		}
	}
}

// Done is closed when the connection has ended and every handler has returned
// or was given up.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Value returns the connection's value for key, made by fresh at the first
// call. It dies with the connection. Keys follow the rules of context.WithValue.
func (c *Conn) Value(key any, fresh func() any) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[key]
	if !ok {
		v = fresh()
		if c.values == nil {
			c.values = map[any]any{}
		}
		c.values[key] = v
	}
	return v
}

// deliver sends a whole reply line, by way of its batch if it has one.
func (c *Conn) deliver(line *[]byte, t *batch) {
	if t != nil {
		t.done(c, line)
		return
	}
	c.out.put(line)
}

// refuse answers what cannot be told by an id: an error with a null id. It
// counts as an element of t when that is not nil.
func (c *Conn) refuse(code int64, message string, t *batch) {
	c.fail(nil, &Error{Code: code, Message: message}, t)
}

// fail sends an error reply.
func (c *Conn) fail(id []byte, e *Error, t *batch) {
	if t != nil {
		t.expect()
	}
	line := newBuffer()
	*line = appendError(*line, id, e)
	c.deliver(line, t)
}

// succeed sends the result object v, which go-sdk or the front has finished.
func (c *Conn) succeed(id, v []byte, t *batch) {
	if t != nil {
		t.expect()
	}
	line := newBuffer()
	b := append(appendReply(*line, id), `,"result":`...)
	*line = append(appendRaw(b, v), "}\n"...)
	c.deliver(line, t)
}
