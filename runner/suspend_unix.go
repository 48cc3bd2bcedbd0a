//go:build unix

package runner

import (
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// suspend stops the clocks, resume lets them go on where they were.
func (c *clocks) suspend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspended = time.Now()
	c.haltLocked()
}

func (c *clocks) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.suspended.IsZero() {
		return
	}
	away := time.Since(c.suspended)
	c.suspended = time.Time{}
	if c.isOver {
		return
	}
	if c.total != nil {
		c.due = c.due.Add(away)
		c.total.Reset(time.Until(c.due))
	}
	if c.silence != nil {
		c.heard.Add(int64(away))
		c.silence.Reset(c.idle)
	}
}

// asleep reports whether we stopped ourselves and were not continued yet.
func (c *clocks) asleep() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.suspended.IsZero()
}

// again gives the terminal back to a child that is continued, if it is ours.
func (s *screen) again(r *run, j *job.Job) {
	if s.shared {
		if take, err := sys.Foreground(r.o.Stdin, j.Leader()); err == nil && take != nil {
			s.take = take
		}
	}
}

// resize tells the child's own terminal of another size of ours.
func (s *screen) resize(r *run) bool {
	if s.own == nil || r.o.RawInput == nil {
		return false
	}
	return s.own.SizeFrom(r.o.Stdin) == nil
}
