package job

import (
	"container/list"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-dev/belfry/internal/workers"
)

// Store admits, runs and remembers jobs.
type Store struct {
	cfg                Config
	own                *Origin       // of jobs that name none
	checks             chan struct{} // places for file-system checks under way
	crew               *workers.Pool // of the goroutines that a short job needs
	checking, spawning *bounds
	bus                bus

	mu       sync.Mutex
	jobs     map[string]*list.Element // of entry in order
	order    *list.List               // oldest first
	queue    []*Job
	held     []*Job // ended with output, in the order of their ends
	slots    int    // held: starting, running or stranded
	finished int    // terminal records in order
	closing  bool
	live     sync.WaitGroup // one a job that holds processes or pipes
	closed   chan struct{}  // closed when every job is recorded at shutdown
	past     chan struct{}  // always closed: what is over of a record's job
	usual    *Guarantee     // of the newest record; the others mostly have the same
	sweep    sweeper

	floods atomic.Int32 // see pump.rest
	next   atomic.Pointer[stdio]

	adopting sync.Mutex      // before mu
	staying  context.Context // ends when detached jobs are let go
	leave    context.CancelFunc
}

const (
	maxChecks = 64 // file-system checks that may be under way at once
	maxIdle   = 16 // goroutines that wait for a next check, start or pipe
)

// NewStore makes a store. It fails only without a launcher.
func NewStore(c Config) (*Store, error) {
	if c.Launcher == nil {
		return nil, errors.New("a store needs a launcher")
	}
	dir := c.Dir
	if dir == "" {
		// Without a directory (it was deleted) only jobs that ask for an
		// absolute one can run, and the others say so.
		dir, _ = os.Getwd()
	}
	s := &Store{
		cfg: c, own: &Origin{Dir: dir, Base: c.Base, Roots: c.Roots, Policy: c.Policy},
		checks:   make(chan struct{}, maxChecks),
		crew:     workers.New(maxIdle),
		checking: newBounds(checkBound), spawning: newBounds(spawnVerdict),
		jobs:   map[string]*list.Element{},
		order:  list.New(),
		closed: make(chan struct{}), past: make(chan struct{}),
	}
	close(s.past)
	s.staying, s.leave = context.WithCancel(context.Background())
	return s, nil
}

// Slots is how many jobs may run at once.
func (s *Store) Slots() int { return s.cfg.maxRunning() }

// RejectedError says that a job was not admitted; nothing was recorded.
type RejectedError struct{ Reason string }

// The reasons of a rejection.
const (
	RejectedQueueFull  = "queue-full"
	RejectedNoCapacity = "no-capacity"
	RejectedClosing    = "shutting-down"
)

func (e *RejectedError) Error() string {
	switch e.Reason {
	case RejectedQueueFull:
		return "rejected (queue-full): every slot is taken and the queue is full; wait for a job to end or kill one"
	case RejectedNoCapacity:
		return "rejected (no-capacity): this server runs no jobs (BELFRY_MAX_CONCURRENT_JOBS is 0)"
	}
	return "rejected (shutting-down): the server is shutting down"
}

// Run checks, admits and starts a command. It answers without waiting for a
// slot; a job whose spawn is under way gets a moment to show its process.
//
// A request that breaks a rule is an *ArgumentError, one that finds neither
// slot nor queue a *RejectedError; both leave no job. A command that cannot
// run at all (cwd, executable, policy) is a job born failed.
func (s *Store) Run(ctx context.Context, sp Spec) (*Job, error) {
	if err := sp.Check(); err != nil {
		return nil, err
	}
	if sp.Detach && s.cfg.Detacher == nil {
		return nil, &ArgumentError{"detach", "must be false: this server cannot keep jobs that outlive it"}
	}
	p, no := s.prepare(ctx, &sp)
	j := newJob(s, sp, p, time.Now())
	if no == nil {
		no = s.keep(j)
	}
	if no != nil {
		j.refuse(no, true)
		s.insert(j)
		s.bus.publish(Event{EventCreated, j})
		return j, nil
	}
	started, err := s.admit(j)
	if err != nil {
		j.forget()
		return nil, err
	}
	s.bus.publish(Event{EventCreated, j})
	if started {
		wait := s.spawning.begin()
		defer s.spawning.end(wait)
		select {
		case <-j.spawned:
		case <-wait.late:
		case <-ctx.Done():
		}
	}
	return j, nil
}

// insert records a job that takes no slot.
func (s *Store) insert(j *Job) {
	s.mu.Lock()
	s.addLocked(j)
	s.shelveLocked(j)
	s.finished++
	s.sweepLocked(time.Now())
	s.mu.Unlock()
}

func (s *Store) addLocked(j *Job) { s.jobs[j.id] = s.order.PushBack(entry(j)) }

// Get finds a job by its id, also one that an earlier store has left.
func (s *Store) Get(id string) (*Job, bool) {
	if j, ok := s.find(id); ok {
		return j, true
	}
	s.adopt(id)
	return s.find(id)
}

func (s *Store) find(id string) (*Job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.jobs[id]
	if !ok {
		return nil, false
	}
	return e.Value.(entry).whole(s), true
}

// Busy reports whether a job of this store waits, starts or runs.
func (s *Store) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.order.Back(); e != nil; e = e.Prev() {
		if !e.Value.(entry).ended() {
			return true
		}
	}
	return false
}

// Filter selects jobs for List.
type Filter struct {
	States []State // none: all
	Limit  int     // at most so many, 0: all
}

// List gives the newest jobs first; more says that Limit cut the list. What
// only the kernel can tell of a running job (Guarantee, Stopped) is left out.
func (s *Store) List(f Filter) (snaps []Snapshot, more bool) {
	s.adopt("")
	s.mu.Lock()
	all := make([]entry, 0, s.order.Len())
	for e := s.order.Back(); e != nil; e = e.Prev() {
		all = append(all, e.Value.(entry))
	}
	s.mu.Unlock()
	for _, e := range all {
		snap := e.brief()
		if len(f.States) > 0 && !slices.Contains(f.States, snap.State) {
			continue
		}
		if f.Limit > 0 && len(snaps) == f.Limit {
			return snaps, true
		}
		snaps = append(snaps, snap)
	}
	return snaps, false
}
