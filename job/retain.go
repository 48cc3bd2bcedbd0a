package job

import (
	"container/list"
	"slices"
	"time"

	"github.com/belfry-dev/belfry/ring"
)

// sweeper is the timer behind sweeps that no new job causes. It runs only
// while something will expire, so an idle store never wakes up.
type sweeper struct {
	timer *time.Timer
	last  time.Time
}

func (w *sweeper) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// ended counts a job that turned terminal and tells the subscribers.
func (s *Store) ended(j *Job) {
	s.mu.Lock()
	s.finished++
	if j.mayHoldOutput() {
		s.held = append(s.held, j)
	}
	now := time.Now()
	if s.finished > s.cfg.maxRecords() {
		s.removeLocked(now)
	}
	s.armLocked(now)
	s.mu.Unlock()
	s.bus.publish(Event{EventEnded, j})
}

// mayHoldOutput reports whether a job has said anything, or a stranger that
// holds one of its pipes still may.
func (j *Job) mayHoldOutput() bool {
	for _, p := range j.reading() {
		if !closed(p.eof) {
			return true
		}
	}
	return j.out().Stat(ring.Stdout).Bytes+j.out().Stat(ring.Stderr).Bytes > 0
}

// sweepLocked reclaims the output and removes the records whose time or number
// is over.
func (s *Store) sweepLocked(now time.Time) {
	s.sweep.last = now
	s.reclaimLocked(now)
	s.removeLocked(now)
	s.armLocked(now)
}

// armLocked sets the timer to the next expiry, at the earliest sweepEvery
// after the last sweep.
func (s *Store) armLocked(now time.Time) {
	if s.closing || s.finished == 0 {
		return
	}
	next, ok := s.nextLocked()
	if !ok {
		return
	}
	if floor := s.sweep.last.Add(sweepEvery); next.Before(floor) {
		next = floor
	}
	d := max(next.Sub(now), 0)
	if s.sweep.timer == nil {
		s.sweep.timer = time.AfterFunc(d, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !s.closing {
				s.sweepLocked(time.Now())
			}
		})
		return
	}
	s.sweep.timer.Reset(d)
}

// nextLocked is when the first output or record expires.
func (s *Store) nextLocked() (next time.Time, ok bool) {
	if len(s.held) > 0 {
		next, ok = s.held[0].keptSince().Add(s.cfg.retention()), true
	}
	for e := s.order.Front(); e != nil; e = e.Next() {
		if have := e.Value.(entry); have.ended() {
			if at := have.endedAt().Add(s.cfg.recordTTL()); !ok || at.Before(next) {
				next, ok = at, true
			}
			break
		}
	}
	return next, ok
}

func (j *Job) endedAt() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec.Ended
}

// keptSince is when the time of a job's output began to count: at its end, or
// when it was adopted after it.
func (j *Job) keptSince() time.Time {
	at := j.endedAt()
	if m := j.detached(); m != nil && m.adopted.After(at) {
		return m.adopted
	}
	return at
}

// isStranded reports whether the job's tree may still live. Its output is kept:
// it may be all that tells what is going on.
func (j *Job) isStranded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stranded
}

// reclaimLocked drops output by age, then the oldest-ended over the number.
func (s *Store) reclaimLocked(now time.Time) {
	kept := s.held[:0]
	over := len(s.held) - s.cfg.maxRetained()
	for _, j := range s.held {
		old := now.Sub(j.keptSince()) >= s.cfg.retention()
		if !old && over <= 0 || j.isStranded() {
			kept = append(kept, j)
			continue
		}
		over--
		j.reclaim()
		j.dropped = true
		s.bus.publish(Event{EventReclaimed, j})
		s.shelveLocked(j)
	}
	clear(s.held[len(kept):])
	s.held = kept
}

// reading are the pumps of a job that is not over for good.
func (j *Job) reading() []*pump {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.pumps
}

// reclaim drops the output of an ended job and lets go of a pipe that a
// stranger still holds.
func (j *Job) reclaim() {
	for _, k := range []ring.Kind{ring.Stdout, ring.Stderr} {
		j.out().Stream(k).Reclaim()
	}
	for _, p := range j.reading() {
		p.close()
	}
	j.out().Notify()
	if m := j.detached(); m != nil {
		m.reclaim()
	}
}

// removeLocked forgets finished records by age and number, oldest first.
func (s *Store) removeLocked(now time.Time) {
	for e := s.order.Front(); e != nil; {
		next := e.Next()
		have := e.Value.(entry)
		if !have.over() {
			e = next
			continue
		}
		old := now.Sub(have.endedAt()) >= s.cfg.recordTTL()
		if !old && s.finished <= s.cfg.maxRecords() {
			break
		}
		s.removeOneLocked(e, have)
		e = next
	}
}

func (s *Store) removeOneLocked(e *list.Element, have entry) {
	s.order.Remove(e)
	delete(s.jobs, have.ID())
	s.held = slices.DeleteFunc(s.held, func(h *Job) bool { return h.id == have.ID() })
	s.finished--
	if o := have.owner(); o != nil {
		go o.Remove()
	}
	s.bus.publish(Event{EventRemoved, have.whole(s)})
}
