package job

// keep notes a job that is to be detached before anybody is told of it, so that
// whatever becomes of this store a later one finds it. Where that cannot be done
// it never starts.
func (s *Store) keep(j *Job) *refusal {
	if !j.detach {
		return nil
	}
	o := j.order()
	if err := s.cfg.Detacher.Keep(&o); err != nil {
		return refusalOf(err)
	}
	return nil
}

// forget drops what keep has noted.
func (j *Job) forget() {
	if j.detach {
		j.store.cfg.Detacher.Forget(j.id)
	}
}

// leaveQueue ends a job that waits as its store closes, or lets it go where a
// later store finds it.
func (j *Job) leaveQueue() {
	if !j.detach {
		j.cancelQueued(ByShutdown, QueueDrained)
		return
	}
	close(j.left)
	j.out().Notify()
	close(j.spawned)
	close(j.gone)
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
