package job

import (
	"sync"
	"time"

	"github.com/belfry-dev/belfry/ring"
)

// adoptBound is how long a request waits for a job that is being read back.
const adoptBound = 10 * time.Second

// Adopt takes over the detached jobs that earlier stores have left, as far as no
// other store has them. They have the ids, cursors and outcomes that they had.
// It is done by itself, too, whenever somebody asks for a job that this store
// does not know, or for the list.
func (s *Store) Adopt() { s.adopt("") }

func (s *Store) adopt(id string) {
	if s.cfg.Detacher == nil || id != "" && !isID(id) {
		return
	}
	s.adopting.Lock()
	defer s.adopting.Unlock()
	bound := time.NewTimer(adoptBound)
	defer bound.Stop()
	s.readAllBack(id, bound.C)
	waiting := s.cfg.Detacher.Waiting(id)
	if id != "" && len(waiting) > 0 {
		// It has its turn after those that run and those that waited before it.
		s.readAllBack("", bound.C)
		waiting = append(waiting, s.cfg.Detacher.Waiting("")...)
	}
	s.takeUp(waiting)
}

// readAllBack shows adopted jobs, and returns when they are read or the time is
// over; what is not read by then comes by itself.
func (s *Store) readAllBack(id string, bound <-chan time.Time) {
	var reading []<-chan struct{}
	for _, h := range s.cfg.Detacher.Adopt(id) {
		if read := s.readBack(h); read != nil {
			reading = append(reading, read)
		}
	}
	for _, read := range reading {
		select {
		case <-read:
		case <-bound:
			return
		}
	}
}

// readBack begins to show an adopted job. The channel is closed when it is in
// the store, or nothing could be read of it; nil when the store is closing.
func (s *Store) readBack(h Owned) <-chan struct{} {
	j := &Job{
		id: h.ID(), detach: true, store: s,
		spawned: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{}), left: make(chan struct{}),
		asks: make(chan ask),
	}
	j.ring.Store(ring.NewJob(ring.DefaultLimits, nil))
	read := make(chan struct{})
	m := &mirror{j: j, owned: h, adopted: time.Now(), read: sync.OnceFunc(func() { close(read) })}
	j.mirror = m
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil
	}
	s.live.Go(func() {
		defer m.read()
		m.show()
	})
	return read
}

// enter brings an adopted job to its place in the order of creation.
func (s *Store) enter(j *Job, m *mirror) {
	s.mu.Lock()
	s.placeInOrderLocked(j)
	if j.rec.Terminal() {
		m.freed = true
		s.finished++
		if j.mayHoldOutput() {
			s.held = append(s.held, j)
		}
	} else {
		s.slots++
	}
	s.armLocked(time.Now())
	s.mu.Unlock()
	m.read()
	s.bus.publish(Event{EventCreated, j})
}

func (s *Store) placeInOrderLocked(j *Job) {
	at := s.order.Back()
	for at != nil && at.Value.(entry).createdAt().After(j.rec.Created) {
		at = at.Prev()
	}
	if at == nil {
		s.jobs[j.id] = s.order.PushFront(j)
	} else {
		s.jobs[j.id] = s.order.InsertAfter(j, at)
	}
}

func (j *Job) createdAt() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec.Created
}

// isID reports whether an id has the form of those that newID makes.
func isID(id string) bool {
	if len(id) != idLen {
		return false
	}
	for i, c := range []byte(id) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
