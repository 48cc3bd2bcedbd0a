package job

import (
	"io"
	"time"

	"github.com/belfry-dev/belfry/ring"
)

// mirror is a detached job as this store shows it. All but show belongs to the
// goroutine of Follow.
type mirror struct {
	j     *Job
	owned Owned

	adopted time.Time // zero: started by this store
	entered bool      // the job is in the store
	read    func()    // of an adopted job: tells that it is
	at      int64     // time of what is being told, for the ring
	freed   bool      // the slot is given back
	whole   bool      // nothing can follow; under j.mu
}

// show follows the supervisor until nothing can follow or the store closes.
func (m *mirror) show() {
	j := m.j
	err := m.owned.Follow(j.store.staying, m)
	switch {
	case !m.entered:
		return // nothing could be read of it
	case j.store.staying.Err() == nil:
		m.lost(err)
		for _, k := range []Kind{Stdout, Stderr} {
			j.out().Stream(k).Shrink()
		}
		j.mu.Lock()
		m.whole = true
		j.mu.Unlock()
	default:
		close(j.left)
		j.out().Notify()
		if !closed(j.spawned) {
			close(j.spawned)
		}
	}
	m.free()
	j.letGo()
	close(j.gone)
	j.store.shelve(j)
}

// lost ends the record of a job whose supervisor did not.
func (m *mirror) lost(err error) {
	if m.j.terminal() {
		return
	}
	if err == nil {
		err = ErrLost
	}
	m.j.finish(Failed, time.Now(), func(r *Snapshot) {
		r.EndedBy, r.Stopped = ByLost, false
		r.Diagnostic = &Diagnostic{Reason: ReasonRuntime, Code: "lost", Message: err.Error() +
			"; it was killed, could not write to its folder, or the machine was started again, and what the job had started has ended with it as far as its guarantee reaches"}
	})
	if !closed(m.j.spawned) {
		close(m.j.spawned)
	}
}

func (m *mirror) free() {
	if !m.freed {
		m.freed = true
		m.j.store.free()
	}
}

// Restore takes over what a supervisor had kept.
func (m *mirror) Restore(saved io.Reader) error {
	r, err := ring.Load(saved, ring.DefaultLimits, m.now)
	if err != nil {
		return err
	}
	if old := m.j.ring.Swap(r); old != nil {
		old.Notify() // who waits there goes on waiting here
	}
	return nil
}

func (m *mirror) now() int64 { return m.at }

// Output puts bytes where the supervisor has put them.
func (m *mirror) Output(k Kind, at time.Time, b []byte) {
	m.at = at.UnixNano()
	s := m.j.out().Stream(k)
	for len(b) > 0 {
		n := copy(s.Space(), b)
		s.Commit(n)
		b = b[n:]
	}
}

// Finish ends a line that no newline ended.
func (m *mirror) Finish(k Kind, at time.Time) {
	m.at = at.UnixNano()
	m.j.out().Stream(k).Finish()
}

// Record shows a newer record.
func (m *mirror) Record(s Snapshot) {
	j := m.j
	if !m.entered {
		j.rec = s
		return
	}
	was := j.brief()
	if s.Terminal() && !was.Terminal() {
		if was.State == Starting && s.State == Exited {
			j.update(func(r *Snapshot) { r.State = Running }) // which went by too fast
		}
		j.finish(s.State, s.Ended, func(r *Snapshot) { *r = s })
	} else {
		j.update(func(r *Snapshot) {
			if r.State.Terminal() == s.State.Terminal() {
				*r = s
			}
		})
	}
	if s.State != Starting && !closed(j.spawned) {
		close(j.spawned)
		if !s.Terminal() {
			j.store.bus.publish(Event{EventStarted, j})
		}
	}
	switch {
	case was.LeaderExit == nil && s.LeaderExit != nil && !s.Terminal():
		j.store.bus.publish(Event{EventLeader, j})
	case s.Ending != nil && (was.Ending == nil || was.Ending.Step != s.Ending.Step):
		j.store.bus.publish(Event{EventEnding, j})
	case was.Terminal() && yes(s.KillConfirmed) && !yes(was.KillConfirmed):
		j.store.bus.publish(Event{EventConfirmed, j})
	}
	if s.Terminal() && yes(s.KillConfirmed) {
		m.free()
	}
}

func yes(p *bool) bool { return p != nil && *p }

// CaughtUp brings an adopted job into the store, as it is by now. A record that
// is missing or another job's is none.
func (m *mirror) CaughtUp() {
	if m.entered || m.j.rec.ID != m.j.id {
		return
	}
	m.entered = true
	j := m.j
	if j.rec.State != Starting {
		close(j.spawned)
	}
	if j.rec.Terminal() {
		close(j.done)
	}
	j.store.enter(j, m)
}

// reclaim drops the transcript of a job of which nothing can follow.
func (m *mirror) reclaim() {
	m.j.mu.Lock()
	defer m.j.mu.Unlock()
	if m.whole {
		go m.owned.Reclaim(m.j.rec, m.j.SaveOutput)
	}
}
