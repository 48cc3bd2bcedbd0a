package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	writeSize = 64 << 10 // the most one Write carries
	// crowded is what may wait for the client before nothing more is read from
	// it. The replies to what was read already come on top.
	crowded = 8 << 20
	// busy is what may wait before progress, which the next one replaces, is left out.
	busy = 1 << 20
)

var errStalled = errors.New("client has stopped reading")

// outbox is the one writer of a connection. Putting never waits, so a handler
// is never held up by a client that does not read; it is the reader of
// requests who waits (room). A failed write loses what was and will be put:
// the stream may have been cut in mid-line, and nothing can follow that.
type outbox struct {
	out     io.Writer
	timeout time.Duration // of one Write; 0: none
	first   func()        // after the first Write; may be nil
	others  func() bool   // more than one handler is at work

	mu     sync.Mutex
	queue  []*[]byte
	size   int // bytes in queue and in the hands of run
	closed bool
	err    error
	wake   chan struct{} // something was put, or closed
	freed  chan struct{} // size fell below crowded
	eased  chan struct{} // closed when it falls below crowded; nil while nobody asks
	failed chan struct{} // closed with the first error
	// stalled is closed when timeout ended writing.
	stalled chan struct{}
	gaveUp  sync.Once
	ended   chan struct{} // closed when run has returned

	writes atomic.Uint64 // finished Writes, to tell a slow client from a stopped one
}

func newOutbox(out io.Writer, timeout time.Duration, first func(), others func() bool) *outbox {
	return &outbox{
		out: out, timeout: timeout, first: first, others: others,
		wake:   make(chan struct{}, 1),
		freed:  make(chan struct{}, 1),
		failed: make(chan struct{}), stalled: make(chan struct{}),
		ended: make(chan struct{}),
	}
}

// buffers recycles encoded lines of ordinary size.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

func newBuffer() *[]byte { return buffers.Get().(*[]byte) }

func release(b *[]byte) {
	if cap(*b) <= writeSize {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// put queues one whole line, newline included, and takes the buffer over.
func (o *outbox) put(line *[]byte) {
	o.mu.Lock()
	if o.closed || o.err != nil {
		o.mu.Unlock()
		release(line)
		return
	}
	o.queue = append(o.queue, line)
	o.size += len(*line)
	idle := len(o.queue) == 1
	o.mu.Unlock()
	if idle {
		signal(o.wake)
	}
}

// signal leaves a token in a channel of capacity one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// waiting returns how many bytes the client has yet to take.
func (o *outbox) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size
}

// easing returns a channel that is closed when the client has taken enough; nil
// when it has already.
func (o *outbox) easing() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size <= crowded {
		return nil
	}
	if o.eased == nil {
		o.eased = make(chan struct{})
	}
	return o.eased
}

// room waits until the client has taken enough, or stop is closed. A client that has
// ended its input must go on taking: one that may have gone is not waited for.
func (o *outbox) room(stop, ended <-chan struct{}) {
	var before uint64
	var late <-chan time.Time
	for o.waiting() > crowded {
		select {
		case <-o.freed:
			continue
		case <-o.failed:
			return
		case <-stop:
			return
		case <-ended:
			ended = nil
		case <-late:
			if o.writes.Load() == before {
				o.fail(fmt.Errorf("%w for %v", errStalled, flushStall))
				return
			}
		}
		before, late = o.writes.Load(), time.After(flushStall)
	}
}

// run writes until close was called and everything is out.
func (o *outbox) run() {
	defer close(o.ended)
	var stall *time.Timer
	if o.timeout > 0 {
		stall = time.AfterFunc(o.timeout, func() {
			o.fail(fmt.Errorf("%w for %v", errStalled, o.timeout))
			o.gaveUp.Do(func() { close(o.stalled) })
		})
		stall.Stop()
	}
	var batch []*[]byte
	var joined []byte
	for {
		o.mu.Lock()
		batch, o.queue = o.queue, batch[:0]
		over := o.closed || o.err != nil
		o.mu.Unlock()
		if len(batch) == 0 {
			if over {
				return
			}
			<-o.wake
			if o.others() {
				// Handlers that are about to answer get to put their lines beside
				// this one, and one Write carries them all. Where there is none
				// it would only wake another thread.
				runtime.Gosched()
			}
			continue
		}
		for i := 0; i < len(batch); {
			// Lines that wait together share a Write, up to its size.
			data, n := *batch[i], 1
			if len(data) < writeSize && i+1 < len(batch) {
				joined = append(joined[:0], data...)
				for i+n < len(batch) && len(joined)+len(*batch[i+n]) <= writeSize {
					joined = append(joined, *batch[i+n]...)
					n++
				}
				data = joined
			}
			o.write(data, stall)
			for _, b := range batch[i : i+n] {
				release(b)
			}
			i += n
		}
		clear(batch)
	}
}

// write sends data in pieces, unless a Write has failed before.
func (o *outbox) write(data []byte, stall *time.Timer) {
	for len(data) > 0 {
		piece := data[:min(len(data), writeSize)]
		data = data[len(piece):]
		if o.broken() == nil {
			if stall != nil {
				stall.Reset(o.timeout)
			}
			_, err := o.out.Write(piece)
			if stall != nil {
				stall.Stop()
			}
			o.writes.Add(1)
			if err != nil {
				o.fail(fmt.Errorf("write reply: %w", err))
			} else if o.first != nil {
				o.first()
				o.first = nil
			}
		}
		o.mu.Lock()
		o.size -= len(piece)
		if o.eased != nil && o.size <= crowded {
			close(o.eased)
			o.eased = nil
		}
		o.mu.Unlock()
		signal(o.freed)
	}
}

// broken returns the error that ended writing, if any.
func (o *outbox) broken() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
		close(o.failed)
	}
}

// close refuses further lines and waits until the rest is written, or until
// the client has not finished one Write for the length of stall, which becomes
// told when ctx ends. A Write that hangs is then left behind.
func (o *outbox) close(ctx context.Context, stall, told time.Duration) error {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	signal(o.wake)
	hurry := ctx.Done()
	for {
		before := o.writes.Load()
		t := time.NewTimer(stall)
		select {
		case <-o.ended:
			t.Stop()
			return o.broken()
		case <-o.stalled:
			t.Stop()
			return o.broken()
		case <-hurry:
			t.Stop()
			hurry, stall = nil, told
		case <-t.C:
			if o.writes.Load() == before {
				o.fail(fmt.Errorf("%w for %v", errStalled, stall))
				return o.broken()
			}
		}
	}
}
