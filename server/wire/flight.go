package wire

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

const (
	maxFlights = 1024 // requests in work, a connection
	maxListens = 256  // of them open listens
	// maxHeld is what the arguments of requests in work may hold in memory, in
	// bytes: else 1,024 lines of the longest kind would take 16 GiB.
	maxHeld = 64 << 20
)

var (
	errCancelled = errors.New("request was cancelled by the client")
	errInputOver = errors.New("input has ended")
)

// flight is one request between its line and its reply.
type flight struct {
	conn  *Conn
	id    []byte // as sent
	era   Era
	batch *batch // nil outside a batch
	token []byte // progressToken as sent, nil for none

	begin  func(context.Context) // runs on the reading goroutine before the handler; nil for none
	waits  bool                  // under the table's lock: its handler only waits for others
	listen bool
	bytes  int                     // held by its arguments
	cancel context.CancelCauseFunc // nil while inline

	mu       sync.Mutex
	over     bool // replied or cancelled: nothing may follow
	reported float64
	spoke    bool
}

// flights is the table of a connection's requests by id. A cancelled request
// leaves the table at once and its id is free again; its handler keeps its
// place among the running until it returns.
type flights struct {
	mu      sync.Mutex
	byKey   map[string]*flight
	running int
	waiting int // of them those that only wait
	listens int
	held    int
	// What drain has made, closed when running falls to waiting and to 0.
	quiet, empty chan struct{}
}

// known says whether key belongs to a request in work.
func (t *flights) known(key []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.byKey[string(key)]
	return ok
}

// add enters f, or says why it may not.
func (t *flights) add(key string, f *flight) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running >= maxFlights {
		return &Error{Code: CodeTooMany, Message: "too many requests in flight on this connection (at most 1024); wait for replies or cancel some"}
	}
	if f.listen && t.listens >= maxListens {
		return &Error{Code: CodeTooMany, Message: "too many open listens on this connection (at most 256); cancel one"}
	}
	if t.held > 0 && t.held+f.bytes > maxHeld {
		return &Error{Code: CodeTooMany, Message: "the requests in flight on this connection hold too much memory (at most 64 MiB); wait for replies"}
	}
	t.running++
	t.held += f.bytes
	if f.listen {
		t.listens++
	}
	t.byKey[key] = f
	return nil
}

// remove takes the flight of that id out of the table, or returns nil.
func (t *flights) remove(key []byte) *flight {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.byKey[string(key)]
	delete(t.byKey, string(key))
	return f
}

// done gives back the place of a handler that has returned, and its id unless
// a cancel has freed it.
func (t *flights) done(key string, f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[key] == f {
		delete(t.byKey, key)
	}
	t.running--
	if f.waits {
		t.waiting--
	}
	t.held -= f.bytes
	if f.listen {
		t.listens--
	}
	t.settle()
}

// wait counts f among those that only wait.
func (t *flights) wait(f *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !f.waits {
		f.waits = true
		t.waiting++
		t.settle()
	}
}

// crowd tells whether more than one handler is at work.
func (t *flights) crowd() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running-t.waiting > 1
}

// drain ends the listens. It returns a channel that closes when all handlers
// that still run only wait, and one that closes when none runs.
func (t *flights) drain() (quiet, empty <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.byKey {
		if f.listen {
			f.cancel(errInputOver)
		}
	}
	if t.quiet == nil {
		t.quiet = make(chan struct{})
	}
	if t.empty == nil {
		t.empty = make(chan struct{})
	}
	quiet, empty = t.quiet, t.empty
	t.settle()
	return quiet, empty
}

// settle tells the one who drains what has come to rest.
func (t *flights) settle() {
	if t.running == t.waiting && t.quiet != nil {
		close(t.quiet)
		t.quiet = nil
	}
	if t.running == 0 && t.empty != nil {
		close(t.empty)
		t.empty = nil
	}
}

// abandon cancels the requests in the table, listens only when asked to. None
// of them is replied to.
func (t *flights) abandon(listens bool) {
	t.mu.Lock()
	var all []*flight
	for key, f := range t.byKey {
		if listens || !f.listen {
			all = append(all, f)
			delete(t.byKey, key)
		}
	}
	t.mu.Unlock()
	for _, f := range all {
		f.abandon(ErrClosed)
	}
}

// abandon ends a request without a reply.
func (f *flight) abandon(cause error) {
	if !f.finish(nil) {
		return
	}
	f.cancel(cause)
	if f.batch != nil {
		f.batch.done(f.conn, nil)
	}
}

// finish marks the end of a request and, if it had not ended before, sends its
// last line; nil for none. It says whether this call ended it.
func (f *flight) finish(line *[]byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		if line != nil {
			release(line)
		}
		return false
	}
	f.over = true
	if line != nil {
		f.conn.deliver(line, f.batch)
	}
	return true
}

// progress sends notifications/progress. Dropped when it does not grow, when
// the request is over, and when the client has much to read already.
func (f *flight) progress(progress float64, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || f.spoke && !(progress > f.reported) || f.conn.out.waiting() > busy {
		return
	}
	line := newBuffer()
	b, ok := appendProgress(*line, f.token, progress, message)
	if !ok {
		release(line)
		return
	}
	*line = b
	f.spoke, f.reported = true, progress
	f.conn.out.put(line)
}

// notify sends a notification that belongs to the request.
func (f *flight) notify(method string, params json.RawMessage) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return ErrClosed
	}
	return f.conn.Notify(method, params)
}
