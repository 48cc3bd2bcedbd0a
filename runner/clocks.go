package runner

import (
	"sync"
	"sync/atomic"
	"time"
)

// clocks end a run that takes too long or says nothing for too long. They rest
// while the run is suspended.
type clocks struct {
	overall, idle time.Duration // 0: never
	fire          func(idle bool)

	begin   time.Time    // what heard counts from; never changed
	heard   atomic.Int64 // when output was last read, nanoseconds after begin
	blocked atomic.Int32 // echoes that wait for their consumer

	mu        sync.Mutex
	total     *time.Timer
	silence   *time.Timer
	due       time.Time // of total
	suspended time.Time // zero while it runs
	isOver    bool
}

func (c *clocks) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear()
	if c.overall > 0 {
		c.due = time.Now().Add(c.overall)
		c.total = time.AfterFunc(c.overall, func() { c.fire(false) })
	}
	if c.idle > 0 {
		c.silence = time.AfterFunc(c.idle, c.checkSilence)
	}
}

// hear notes that output was read now.
func (c *clocks) hear() {
	if c.idle > 0 {
		c.heard.Store(int64(time.Since(c.begin)))
	}
}

// checkSilence runs when the silence may have been long enough. Who waits for
// the consumer of the output is not silent.
func (c *clocks) checkSilence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isOver || !c.suspended.IsZero() {
		return
	}
	if c.blocked.Load() > 0 {
		c.silence.Reset(c.idle)
		return
	}
	left := c.idle - (time.Since(c.begin) - time.Duration(c.heard.Load()))
	if left > 0 {
		c.silence.Reset(left)
		return
	}
	go c.fire(true)
}

// over ends the watch: the run's end is decided.
func (c *clocks) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isOver = true
	c.haltLocked()
}

func (c *clocks) haltLocked() {
	if c.total != nil {
		c.total.Stop()
	}
	if c.silence != nil {
		c.silence.Stop()
	}
}
