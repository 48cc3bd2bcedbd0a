package job

import (
	"sync"
	"sync/atomic"
)

// EventKind is what changed.
type EventKind string

// The kinds of events. Output is not among them: whoever wants lines waits on
// the job itself (Job.Follow), which costs the writer nothing.
const (
	EventCreated   EventKind = "created"   // a record exists, perhaps queued or already failed
	EventStarted   EventKind = "started"   // its process runs
	EventLeader    EventKind = "leader"    // the leader ended, the job goes on
	EventEnding    EventKind = "ending"    // a teardown began or escalated
	EventEnded     EventKind = "ended"     // the record is terminal
	EventConfirmed EventKind = "confirmed" // emptiness was proved after the record turned terminal
	EventReclaimed EventKind = "reclaimed" // its output is gone, its record stays
	EventRemoved   EventKind = "removed"   // its record is gone
)

// Event is one change of one job. The job's Snapshot tells what it is now,
// which may be later than the event.
type Event struct {
	Kind EventKind
	Job  *Job
}

// Subscription receives events. A subscriber that falls behind loses events,
// never the store its time: Missed then says how many, and the subscriber
// looks at the jobs it cares for again.
type Subscription struct {
	C      <-chan Event
	c      chan Event
	missed atomic.Uint64
	bus    *bus
}

// Missed takes the number of events lost since the last call.
func (s *Subscription) Missed() uint64 { return s.missed.Swap(0) }

// Close ends the subscription and closes C. It is idempotent.
func (s *Subscription) Close() { s.bus.remove(s) }

// bus hands events to subscribers without ever waiting for one.
type bus struct {
	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// Subscribe registers for every change from now on; buffer is how many events
// may wait unread, at least 1.
func (s *Store) Subscribe(buffer int) *Subscription {
	c := make(chan Event, max(buffer, 1))
	sub := &Subscription{C: c, c: c, bus: &s.bus}
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if s.bus.subs == nil {
		s.bus.subs = map[*Subscription]struct{}{}
	}
	s.bus.subs[sub] = struct{}{}
	return sub
}

func (b *bus) remove(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.subs[s]; ok {
		delete(b.subs, s)
		close(s.c)
	}
}

func (b *bus) publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		select {
		case s.c <- e:
		default:
			s.missed.Add(1)
		}
	}
}
