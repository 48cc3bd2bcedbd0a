package daemon

import (
	"sync"
	"time"
)

// drain is the time between the decision to leave and the moment at which what
// is still in work is cancelled.
type drain struct {
	budget time.Duration
	begun  chan struct{}
	once   sync.Once

	mu  sync.Mutex
	end time.Time
}

func newDrain(budget time.Duration) *drain { return &drain{budget: budget, begun: make(chan struct{})} }

func (d *drain) begin() {
	d.once.Do(func() {
		d.mu.Lock()
		d.end = time.Now().Add(d.budget)
		d.mu.Unlock()
		close(d.begun)
	})
}

// left is how long requests may still be answered: all of the budget before the
// drain has begun, and never less than 0.
func (d *drain) left() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.end.IsZero() {
		return d.budget
	}
	return max(time.Until(d.end), 0)
}
