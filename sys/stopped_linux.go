package sys

import (
	"sync"
	"sync/atomic"

	"github.com/belfry-dev/belfry/linux"
)

func stopped(id ID) bool {
	st, err := linux.ReadStat("/proc", id.PID)
	return err == nil && st.Start == id.Birth && st.Stopped()
}

// mostHeldStats is how many leaders of a program have their stat held open. To ask
// of others takes a walk through /proc: a thousand jobs must not need a thousand
// descriptors more.
const mostHeldStats = 16

var heldStats atomic.Int32

// stat is that of one process, held from the first time that it is asked for.
type stat struct {
	mu   sync.Mutex
	held *linux.HeldStat
	over bool // it is not held any more
}

// read reads it. Nothing is known of a process that was reaped.
func (s *stat) read(id ID) (linux.Stat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil && !s.over {
		if heldStats.Add(1) > mostHeldStats {
			heldStats.Add(-1)
		} else if h, err := linux.HoldStat(id.PID, id.Birth); err == nil {
			s.held = h
		} else {
			heldStats.Add(-1)
		}
	}
	if s.held != nil {
		return s.held.Read()
	}
	return linux.ReadStat("/proc", id.PID)
}

// close gives it back.
func (s *stat) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over = true; s.held != nil {
		s.held.Close()
		s.held = nil
		heldStats.Add(-1)
	}
}
