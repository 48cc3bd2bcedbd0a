package job

import (
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// end brings a tree that is over into the record: drain, outcome, release, in
// the contract's order, then what may still come.
func (j *Job) end(t *teardown, proved bool) {
	// Asked before the drain: meanwhile the pumps come to their ends by themselves.
	guarantee := guaranteeOf(t.tree.Guarantee())
	usage, evidence := t.tree.Usage(), t.tree.Evidence()
	to, set := t.outcome()
	if proved {
		_ = t.tree.Release() // Best effort: what remains is an empty directory.
	}
	drained := j.drain(t)
	survivors := membersOf(t.report.Survivors)
	j.finish(to, time.Now(), func(r *Snapshot) {
		set(r)
		r.KillConfirmed = ptr(proved)
		r.Guarantee = guarantee
		r.Usage = &Usage{CPU: usage.CPU, PeakMemory: usage.PeakMemory, IORead: usage.IORead,
			IOWrite: usage.IOWrite, PeakProcesses: usage.PeakProcesses}
		if len(r.Limits) > 0 {
			r.Evidence = &evidence
		}
		r.Stopped = false
		if !proved {
			r.Survivors = survivors
		}
		if !drained {
			r.Drained = ptr(false)
		}
	})
	if j.direct != nil {
		close(j.store.closed) // nobody waits for what was given up
	}
	if proved {
		j.store.free()
	} else {
		j.strand(t.tree)
	}
	j.linger()
	if j.direct == nil {
		j.letGo()
	}
	close(j.gone)
	j.store.shelve(j)
}

// letGo drops what only a job with processes or pipes needs, so that a record
// that is kept for days is small.
func (j *Job) letGo() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tree, j.pumps, j.work = nil, nil, nil
}

// drain reads the pipes to the end; false means that a stranger holds one.
func (j *Job) drain(t *teardown) bool {
	drained := true
	var stall time.Duration
	var abandoned <-chan struct{}
	if j.direct != nil {
		abandoned = j.direct.abandoned
		if !t.cause.Natural() {
			stall = stallBound
		}
	}
	for _, p := range j.pumps {
		if closed(p.eof) {
			continue
		}
		p.drain()
		if t.step != "" {
			t.enter(StepDrain)
		}
	}
	for _, p := range j.pumps {
		if !p.settled(abandoned, stall) {
			drained = false
		}
	}
	return drained
}

// strand keeps the slot of a tree that was not proved empty until it is, or
// until the store closes.
func (j *Job) strand(tree sys.Tree) {
	j.mu.Lock()
	j.stranded = true
	j.mu.Unlock()
	select {
	case <-tree.Empty():
	case <-j.store.closed:
		_ = tree.Release()
		return
	}
	_ = tree.Release()
	j.mu.Lock()
	j.stranded = false
	j.mu.Unlock()
	j.update(func(r *Snapshot) {
		r.KillConfirmed, r.Survivors = ptr(true), nil
	})
	j.store.bus.publish(Event{EventConfirmed, j})
	j.store.free()
}

// linger goes on with pumps whose pipe a stranger holds, until its end, until
// the output is reclaimed, or until the store closes.
func (j *Job) linger() {
	for _, p := range j.pumps {
		select {
		case <-p.eof:
		case <-j.store.closed:
			p.close()
			<-p.eof
		}
		p.s.Shrink()
	}
}
