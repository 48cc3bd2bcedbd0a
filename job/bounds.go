package job

import (
	"sync"
	"time"
)

// bounds end waits that take too long. A timer for each would wake the thread that
// waits in the poller each time: one goes on until it meets none.
type bounds struct {
	limit time.Duration // of each

	mu    sync.Mutex
	waits map[*bound]struct{}
	armed bool
}

// bound is one wait.
type bound struct {
	late  chan struct{} // closed when the wait has taken too long
	until time.Time
}

func newBounds(limit time.Duration) *bounds {
	return &bounds{limit: limit, waits: map[*bound]struct{}{}}
}

// begin begins a wait, which end ends.
func (b *bounds) begin() *bound {
	w := &bound{make(chan struct{}), time.Now().Add(b.limit)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits[w] = struct{}{}
	if !b.armed {
		b.armed = true
		time.AfterFunc(b.limit, b.look)
	}
	return w
}

func (b *bounds) end(w *bound) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waits, w)
}

// look ends what is late and comes again when the next one will be.
func (b *bounds) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, next := time.Now(), b.limit
	for w := range b.waits {
		if left := w.until.Sub(now); left > 0 {
			next = min(next, left)
			continue
		}
		close(w.late)
		delete(b.waits, w)
	}
	if b.armed = len(b.waits) > 0; b.armed {
		time.AfterFunc(next, b.look)
	}
}
