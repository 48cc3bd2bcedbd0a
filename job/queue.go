package job

import (
	"slices"
	"time"
)

// admit gives a job a slot, a place in the queue, or refuses it.
func (s *Store) admit(j *Job) (started bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return false, &RejectedError{RejectedClosing}
	case s.cfg.maxRunning() == 0:
		return false, &RejectedError{RejectedNoCapacity}
	case s.slots < s.cfg.maxRunning() && len(s.queue) == 0:
		s.addLocked(j)
		s.sweepLocked(time.Now())
		s.startLocked(j)
		return true, nil
	case len(s.queue) < s.cfg.maxQueue():
		s.addLocked(j)
		s.queue = append(s.queue, j)
		s.placeLocked()
		s.sweepLocked(time.Now())
		return false, nil
	}
	return false, &RejectedError{RejectedQueueFull}
}

func (s *Store) startLocked(j *Job) {
	s.slots++
	s.live.Add(1)
	s.crew.Do(s.staying, j.launch)
}

// placeLocked tells the waiting jobs their places.
func (s *Store) placeLocked() {
	for i, q := range s.queue {
		q.place.Store(int64(i + 1))
	}
}

// free gives a slot back and starts what waits.
func (s *Store) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots--
	s.startQueuedLocked()
}

// startQueuedLocked starts what waits as far as there are slots.
func (s *Store) startQueuedLocked() {
	for !s.closing && len(s.queue) > 0 && s.slots < s.cfg.maxRunning() {
		next := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		next.place.Store(0)
		s.startLocked(next)
	}
	s.placeLocked()
}

// unqueue takes a job out of the queue; false if it is no longer there.
func (s *Store) unqueue(j *Job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, j)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	j.place.Store(0)
	s.placeLocked()
	return true
}

// cancelQueued ends a job that never started.
func (j *Job) cancelQueued(by EndedBy, signal string) {
	close(j.spawned)
	j.finish(Killed, time.Now(), func(r *Snapshot) {
		r.EndedBy, r.Signal = by, signal
		r.KillConfirmed = ptr(true)
	})
	close(j.gone)
	j.store.shelve(j)
}
