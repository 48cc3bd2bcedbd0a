package sys

import (
	"os"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// here runs one request on the calling goroutine. To hand it to another thread
// and wait for its answer wakes two of them, which costs a short job more than
// all else that is done about it.
//
// The caller cannot leave while its thread is between clone and exec. So when
// limit passes, what is in the control group is killed: that ends the clone, too,
// where the group is frozen.
func (s *spawner) here(b birth, limit time.Duration) (linux.Child, error) {
	if err := s.await(limit); err != nil {
		if os.IsTimeout(err) {
			err = startTimeout(b.attr.Path, limit)
		}
		return linux.Child{}, err
	}
	s.overdue.begin(b.kill, limit)
	out := s.attempt(&spawnRequest{birth: b})
	late := s.overdue.end()
	<-s.turn
	if late {
		if out.err == nil {
			discard(out.PID, out.Pidfd)
		}
		return linux.Child{}, startTimeout(b.attr.Path, limit)
	}
	return out.Child, out.err
}

// await takes the turn.
func (s *spawner) await(limit time.Duration) error {
	select {
	case <-s.stop:
		return os.ErrClosed
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-s.stop:
		return os.ErrClosed
	case <-timer.C:
		return os.ErrDeadlineExceeded
	}
}

// overdue kills what takes too long to start. A timer for each start would wake
// the thread that waits in the poller each time: one goes on until it meets none.
type overdue struct {
	mu    sync.Mutex
	armed bool
	limit time.Duration
	kill  func() error // of the start under way; nil without one
	since time.Time
	late  bool // it was killed
}

func (o *overdue) begin(kill func() error, limit time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kill, o.limit, o.since, o.late = kill, limit, time.Now(), false
	if !o.armed {
		o.armed = true
		time.AfterFunc(limit, o.look)
	}
}

// end tells whether the start was killed. After it nothing is.
func (o *overdue) end() (late bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kill = nil
	return o.late
}

func (o *overdue) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.kill == nil {
		o.armed = false
		return
	}
	left := o.limit - time.Since(o.since)
	if left <= 0 {
		o.late = true
		_ = o.kill() // Best effort: repeated as long as it is there.
		left = o.limit
	}
	time.AfterFunc(left, o.look)
}
