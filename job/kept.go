package job

import "sync"

// kept says whether a job that is to be detached, and waits for a place, is where
// a later store finds it.
type kept struct {
	mu  sync.Mutex // held from before the job is admitted until that is decided
	yes bool       // under mu
}

// admitAndKeep admits a job, and has one that is to be detached and must wait
// outlive this store.
func (s *Store) admitAndKeep(j *Job) (started bool, err error) {
	var o Order
	if j.kept != nil {
		o = j.order() // before its owner may be done with it
		j.kept.mu.Lock()
		defer j.kept.mu.Unlock()
	}
	started, err = s.admit(j)
	if err != nil {
		return false, err
	}
	s.bus.publish(Event{EventCreated, j})
	if !started && j.kept != nil {
		s.keep(j, &o)
	}
	return started, nil
}

// keep has a job that waits for a place outlive this store. Where that cannot be
// done the job fails at once: it would, too, when its turn came.
func (s *Store) keep(j *Job, o *Order) {
	err := s.cfg.Detacher.Keep(o)
	j.kept.yes = err == nil
	if err != nil && s.unqueue(j) {
		j.refuse(refusalOf(err), false)
	}
}

// forgetKept is for a job that was taken out of the queue for good.
func (j *Job) forgetKept() {
	if j.kept == nil {
		return
	}
	j.kept.mu.Lock()
	defer j.kept.mu.Unlock()
	if j.kept.yes {
		j.kept.yes = false
		j.store.cfg.Detacher.Forget(j.id)
	}
}

// leaveQueue ends a job that waits as its store closes, or lets it go where a later
// store finds it.
func (j *Job) leaveQueue() {
	if j.kept != nil {
		j.kept.mu.Lock()
		defer j.kept.mu.Unlock()
		if j.kept.yes {
			close(j.left)
			j.out().Notify()
			close(j.spawned)
			close(j.gone)
			return
		}
	}
	if !j.terminal() { // else it could not be kept
		j.cancelQueued(ByShutdown, QueueDrained)
	}
}

// awaitKept returns once it is decided whether the job is kept.
func (j *Job) awaitKept() {
	j.kept.mu.Lock()
	defer j.kept.mu.Unlock()
}

// newOrdered makes the job of an order.
func newOrdered(s *Store, o *Order, detach bool) *Job {
	j := newJob(s, Spec{
		Command: o.Argv, Label: &o.Label, Deadline: o.Deadline, OnExit: o.OnExit, MergeStderr: o.MergeStderr,
		Contain: o.Contain, AllowWeaker: o.AllowWeaker, Limits: o.Limits, Detach: detach,
	}, plan{path: o.Path, argv: o.Argv, env: o.Env, dir: o.Dir, umask: o.Umask, approved: o.Approved}, o.Created)
	j.id, j.rec.ID, j.rec.Command, j.rec.Client = o.ID, o.ID, o.Command, o.Client
	return j
}

// takeUp gives jobs that an earlier store has let wait their turn here, the
// oldest first. They were admitted there, so no bound of the queue holds for them.
func (s *Store) takeUp(orders []*Order) {
	var taken []*Job
	s.mu.Lock()
	for _, o := range orders {
		if s.closing {
			break // the next store has them
		}
		j := newOrdered(s, o, true)
		j.kept.yes = true
		s.placeInOrderLocked(j)
		s.queue = append(s.queue, j)
		for at := len(s.queue) - 1; at > 0 && s.queue[at-1].createdAt().After(o.Created); at-- {
			s.queue[at-1], s.queue[at] = j, s.queue[at-1]
		}
		taken = append(taken, j)
	}
	s.startQueuedLocked()
	s.mu.Unlock()
	for _, j := range taken {
		s.bus.publish(Event{EventCreated, j})
	}
}
