package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"
)

// bridge carries lines between a client and whatever daemon there is.
//
// wmu is held by whoever sends to the daemon, from connecting on; mu guards the
// tables and is never held while something may block. Whoever receives takes
// only mu, so that a daemon which writes is always read.
type bridge struct {
	ctx      context.Context
	fail     context.CancelCauseFunc
	d        *Daemon
	opts     ProxyOptions
	mayStart bool
	log      *slog.Logger // nil: no payloads are logged

	outMu  sync.Mutex
	outErr error

	wmu sync.Mutex

	mu      sync.Mutex
	up      *uplink   // nil: no daemon
	backlog []*flight // to be sent, in order
	flights map[string]*flight
	opening []byte // the initialize request; nil in the modern era
	opened  bool   // it was answered
	ready   []byte // notifications/initialized
	resumes int
	closed  bool
	sending bool       // a line is between backlog and flights
	settled *sync.Cond // any of these changed
}

// flight is one line on its way, with the replies that it is owed.
type flight struct {
	line    []byte
	all     []message
	batch   bool
	owed    map[string]bool // ids without a reply
	seq     int             // place among the lines of its uplink; 0: not sent
	listen  bool            // a subscriptions/listen, which stays open
	swallow bool            // the bridge's own: nobody waits for the reply
	again   bool            // its acknowledgement is not the first
	tries   int             // times that it was not taken
}

// uplink is a connection to one daemon.
type uplink struct {
	link *link
	sent int
	post *http.Client  // not nil: it serves no streams
	over chan struct{} // closed when everything about its loss is noted
}

func newBridge(ctx context.Context, d *Daemon, o ProxyOptions, mayStart bool, log *slog.Logger, fail context.CancelCauseFunc) *bridge {
	b := &bridge{ctx: ctx, fail: fail, d: d, opts: o, mayStart: mayStart, log: log, flights: map[string]*flight{}}
	b.settled = sync.NewCond(&b.mu)
	return b
}

func (b *bridge) who() DialOptions { return DialOptions{Role: b.opts.Role, Meta: b.opts.Meta} }

// write gives the client whole lines.
func (b *bridge) write(line []byte) {
	b.outMu.Lock()
	defer b.outMu.Unlock()
	if b.outErr != nil {
		return
	}
	b.note("to client", line)
	if _, err := b.opts.Stdout.Write(line); err != nil {
		b.outErr = fmt.Errorf("write reply: %w", err)
		b.fail(b.outErr)
	}
}

func (b *bridge) failure() error {
	b.outMu.Lock()
	defer b.outMu.Unlock()
	return b.outErr
}

func (b *bridge) note(where string, line []byte) {
	if b.log != nil {
		b.log.Info(where, "bytes", len(line), "message", string(line[:min(len(line), payloadLog)]))
	}
}

// send takes a line of the client's.
func (b *bridge) send(line []byte) {
	b.note("from client", line)
	f := &flight{line: line, owed: map[string]bool{}}
	f.all, f.batch = sniff(line)
	b.mu.Lock()
	for _, m := range f.all {
		b.remember(f, m, line)
	}
	b.backlog = append(b.backlog, f)
	b.mu.Unlock()
	b.flush()
}

// remember notes what of a message matters for replies and for another daemon.
func (b *bridge) remember(f *flight, m message, line []byte) {
	switch {
	case m.request():
		f.owed[m.id] = true
		switch m.method {
		case "initialize":
			if !f.batch {
				b.opening, b.opened, b.ready = line, false, nil
			}
		case "subscriptions/listen":
			f.listen = !f.batch
		}
	case m.method == "notifications/initialized":
		b.ready = line
	case m.method == "notifications/cancelled" && m.cancel != "":
		b.forget(m.cancel)
	}
}

// forget takes a request that was cancelled off the table: no reply comes.
func (b *bridge) forget(id string) {
	if f := b.flights[id]; f != nil {
		delete(b.flights, id)
		delete(f.owed, id)
		b.settled.Broadcast()
	}
}

// flush sends what waits, to the daemon there is or to another one.
func (b *bridge) flush() {
	b.wmu.Lock()
	defer b.wmu.Unlock()
	for {
		f := b.next()
		if f == nil {
			return
		}
		up, err := b.daemon()
		if err != nil {
			b.refuse(f, err)
			continue
		}
		sent := b.put
		if up.post != nil {
			sent = b.postTo
		}
		if !sent(up, f) {
			// It was not taken: its newline was not sent. What the connection
			// still owes goes before it.
			b.requeue(f)
			up.link.Close()
			<-up.over
		}
	}
}

func (b *bridge) next() *flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.backlog) == 0 || b.closed {
		b.sending = false
		b.settled.Broadcast()
		return nil
	}
	f := b.backlog[0]
	b.backlog = b.backlog[1:]
	b.sending = true
	return f
}

// put writes a line; false when the connection failed before all of it was out, and
// nobody has settled it since.
func (b *bridge) put(up *uplink, f *flight) bool {
	b.mu.Lock()
	if b.up != up {
		b.mu.Unlock()
		return false
	}
	up.sent++
	f.seq = up.sent
	for id := range f.owed {
		b.flights[id] = f
	}
	owes := len(f.owed) > 0
	b.mu.Unlock()
	line := append(f.line[:len(f.line):len(f.line)], '\n')
	n, err := up.link.conn.Write(line)
	if err == nil || n == len(line) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// Whoever reads from the connection may have met its end first and settled it
	// there (lost): sent once more from here, too, it would be answered twice.
	settled := owes
	for id := range f.owed {
		if b.flights[id] == f {
			delete(b.flights, id)
			settled = false
		}
	}
	return settled
}

func (b *bridge) requeue(f *flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.seq = 0
	b.backlog = append([]*flight{f}, b.backlog...)
}

// refuse answers a line that reached nobody.
func (b *bridge) refuse(f *flight, cause error) {
	if f.swallow {
		return
	}
	b.answer(f, codeUnavailable, "daemon unavailable: "+cause.Error(), nil)
}

// answer gives an error to every request of a line that still waits for a reply.
func (b *bridge) answer(f *flight, code int, text string, data any) {
	b.mu.Lock()
	var owed []message
	for _, m := range f.all {
		if m.request() && f.owed[m.id] {
			owed = append(owed, m)
			delete(f.owed, m.id)
			if b.flights[m.id] == f {
				delete(b.flights, m.id)
			}
		}
	}
	b.settled.Broadcast()
	b.mu.Unlock()
	if !f.batch {
		for _, m := range owed {
			b.write(errorLine(m.id, code, text, withMethod(data, m.method)))
		}
		return
	}
	var all []json.RawMessage
	for _, m := range owed {
		all = append(all, errorLine(m.id, code, text, withMethod(data, m.method)))
	}
	if len(all) > 0 {
		line, err := json.Marshal(all)
		if err == nil {
			b.write(append(line, '\n'))
		}
	}
}

func withMethod(data any, method string) any {
	if g, ok := data.(string); ok {
		return map[string]string{"generation": g, "method": method}
	}
	return data
}

// finish waits, once the input has ended, for what is still owed, tells the
// daemon that no more comes, and waits for its last words.
func (b *bridge) finish(limit time.Duration) {
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	wake := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.settled.Broadcast()
	})
	defer wake()
	b.mu.Lock()
	waits := func(f *flight) bool { return !f.listen }
	for ctx.Err() == nil && (slices.ContainsFunc(b.backlog, waits) || b.sending) {
		b.settled.Wait()
	}
	up := b.up
	b.mu.Unlock()
	if up == nil || up.post != nil {
		return
	}
	b.wmu.Lock()
	// Best effort: a daemon that is gone needs no end.
	_, _ = io.WriteString(up.link.conn, endLine)
	b.wmu.Unlock()
	select {
	case <-up.over:
	case <-ctx.Done():
	}
}

// close gives the lease back.
func (b *bridge) close() {
	b.mu.Lock()
	b.closed = true
	up := b.up
	b.mu.Unlock()
	if up != nil {
		up.link.Close()
		<-up.over
	}
}
