package job

import (
	"time"

	"github.com/belfry-dev/belfry/ring"
)

// entry is what the store has of a job: a *Job, or a *record.
type entry interface {
	ID() string
	createdAt() time.Time
	endedAt() time.Time
	brief() Snapshot
	ended() bool // the record is terminal
	over() bool  // nothing of the job is left to watch
	owner() Owned
	whole(s *Store) *Job
}

func (j *Job) ended() bool       { return closed(j.done) }
func (j *Job) over() bool        { return closed(j.gone) }
func (j *Job) whole(*Store) *Job { return j }

func (j *Job) owner() Owned {
	if m := j.detached(); m != nil {
		return m.owned
	}
	return nil
}

// record is what stays of a job whose processes, pipes and output are gone: what
// can still be asked of it, in little, for thousands are kept for days. It never
// changes.
type record struct {
	snap  Snapshot // its counts included
	owned Owned    // nil: was not detached
}

func (r *record) ID() string           { return r.snap.ID }
func (r *record) createdAt() time.Time { return r.snap.Created }
func (r *record) endedAt() time.Time   { return r.snap.Ended }
func (r *record) brief() Snapshot      { return r.snap }
func (r *record) ended() bool          { return true }
func (r *record) over() bool           { return true }
func (r *record) owner() Owned         { return r.owned }

// whole makes a job of the record that answers as the one did of which it is.
func (r *record) whole(s *Store) *Job {
	j := &Job{id: r.snap.ID, store: s, rec: r.snap, spawned: s.past, done: s.past, gone: s.past, dropped: true}
	j.rec.Counts = [2]ring.Stat{}
	j.ring.Store(ring.Emptied(r.snap.Counts))
	return j
}

// shelve keeps the record of a job in its place, once nothing else is left of it.
// Whoever has the job keeps that.
func (s *Store) shelve(j *Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelveLocked(j)
}

func (s *Store) shelveLocked(j *Job) {
	e, ok := s.jobs[j.id]
	if !ok || e.Value != entry(j) || !j.ended() || !j.over() {
		return
	}
	r := &record{snap: j.brief(), owned: j.owner()}
	if said := r.snap.Counts[ring.Stdout].Bytes+r.snap.Counts[ring.Stderr].Bytes > 0; said && !j.dropped {
		return
	}
	if g := r.snap.Guarantee; g != nil {
		if s.usual == nil || *s.usual != *g {
			s.usual = g
		}
		r.snap.Guarantee = s.usual
	}
	e.Value = r
}
