package job

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// Job is a background command with a record. All methods are safe for
// concurrent use.
type Job struct {
	id     string
	detach bool // it has a supervisor of its own, or will have
	store  *Store
	work   *work                    // its owner's, nil once it is over
	ring   atomic.Pointer[ring.Job] // replaced when a mirror was left too far behind

	place   atomic.Int64  // 1-based while queued, written under the store's lock
	spawned chan struct{} // closed when the spawn was decided either way
	done    chan struct{} // closed when the record turned terminal
	gone    chan struct{} // closed when nothing of the job is left to watch
	left    chan struct{} // closed when a detached job that goes on was let go; else nil
	asks    chan ask      // to the owner goroutine, while the job runs

	mu   sync.Mutex
	rec  Snapshot // without queue place and counts, which Snapshot adds
	tree sys.Tree // nil until started

	direct *directRun // nil: of a store

	stranded bool // under mu: terminal without proof, its slot is held
	dropped  bool // under the store's lock: its output was reclaimed

	pumps []*pump // written before the job runs; its owner and letGo need no lock to read them

	mirror *mirror // under mu; nil: this process is the supervisor
	tee    *tee    // nil: not recorded
}

// work is what a job was made from, needed until it is over.
type work struct {
	spec Spec
	plan plan
}

// out is where the job's output is.
func (j *Job) out() *ring.Job { return j.ring.Load() }

func newJob(s *Store, sp Spec, p plan, now time.Time) *Job {
	label := "job " + newID()
	j := &Job{
		id: label[len(label)-idLen:], detach: sp.Detach, work: &work{sp, p}, store: s,
		spawned: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{}),
		asks: make(chan ask),
	}
	if sp.Detach {
		j.left = make(chan struct{})
	}
	j.ring.Store(ring.NewJob(ring.DefaultLimits, nil))
	j.rec = Snapshot{ID: j.id, State: Starting, Command: sp.summary(), Created: now, Label: label}
	if sp.Origin != nil {
		j.rec.Client = sp.Origin.Client
	}
	if sp.Label != nil {
		j.rec.Label = *sp.Label
	}
	return j
}

// ID is the job's random identifier.
func (j *Job) ID() string { return j.id }

// Done is closed when the record turned terminal: its output and outcome are
// then complete.
func (j *Job) Done() <-chan struct{} { return j.done }

func (j *Job) terminal() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec.State.Terminal()
}

// update changes the record under its lock, then wakes followers.
func (j *Job) update(f func(r *Snapshot)) {
	j.mu.Lock()
	f(&j.rec)
	j.mu.Unlock()
	j.out().Notify()
}

// finish turns the record terminal in one step: outcome first, then followers,
// then subscribers. Moving to where it already is is refused by the table.
func (j *Job) finish(to State, now time.Time, f func(r *Snapshot)) {
	j.mu.Lock()
	if err := j.rec.State.move(to); err != nil {
		j.mu.Unlock()
		return
	}
	j.rec.Ended = now
	j.rec.Ending = nil
	f(&j.rec)
	j.mu.Unlock()
	close(j.done)
	j.out().Notify()
	j.store.ended(j)
}

func ptr[T any](v T) *T { return &v }
