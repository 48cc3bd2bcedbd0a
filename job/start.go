package job

import (
	"context"
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// refuse ends a job that never had a process. born means that it is not yet
// in the store.
func (j *Job) refuse(no *refusal, born bool) {
	now := time.Now()
	set := func(r *Snapshot) {
		r.EndedBy = no.by
		r.Diagnostic = ptr(no.diag)
		r.KillConfirmed = ptr(true)
	}
	if born {
		close(j.spawned)
		close(j.done)
		close(j.gone)
		j.rec.State, j.rec.Ended = Failed, j.rec.Created
		set(&j.rec)
		return
	}
	j.finish(Failed, now, set)
	close(j.spawned)
	close(j.gone)
	j.store.shelve(j)
}

// launch starts the job's tree and stays its owner until nothing is left.
func (j *Job) launch() {
	defer j.store.live.Done()
	if j.store.isClosing() {
		j.leaveQueue()
		j.store.free()
		return
	}
	if j.detach {
		j.launchDetached()
		return
	}
	tree, err := j.spawn()
	if err != nil {
		j.refuse(refusalOf(err), false)
		j.store.free()
		return
	}
	j.started(tree)
	if j.tee != nil {
		j.tee.to.Record(j.Snapshot())
	}
	// Only now: who has read a line of a job's finds it running.
	for _, p := range j.pumps {
		j.store.crew.Do(j.store.staying, p.run)
	}
	j.store.bus.publish(Event{EventStarted, j})
	close(j.spawned)
	j.store.crew.Do(j.store.staying, j.store.makeNext)
	j.own(tree)
}

// started records that the tree runs.
func (j *Job) started(tree sys.Tree) {
	now := time.Now()
	leader := tree.Leader()
	j.mu.Lock()
	j.tree = tree
	j.mu.Unlock()
	j.update(func(r *Snapshot) {
		_ = r.State.move(Running)
		r.Spawned = now
		r.Identity = &Identity{PID: leader.PID, Kind: leader.Kind, Birth: leader.Birth}
		r.IdentityCapture = "captured"
		if leader.Kind == sys.BirthUnknown {
			r.IdentityCapture = "unavailable"
		}
		r.Limits = tree.Limits()
	})
}

// spawn starts the tree with pipes for its output. On an error nothing is left open.
func (j *Job) spawn() (tree sys.Tree, err error) {
	kinds := []ring.Kind{ring.Stdout, ring.Stderr}
	if j.work.spec.MergeStderr {
		kinds = kinds[:1]
	}
	io, err := j.store.takeStdio(len(kinds))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			io.close()
			j.pumps = nil
			return
		}
		io.closeFiles()
	}()
	for i, k := range kinds {
		j.pumps = append(j.pumps, j.store.newPump(io.pipes[i].r, j.sink(k)))
	}
	pair(j.pumps, true)
	spec, plan := &j.work.spec, &j.work.plan
	sp := sys.Spec{
		Path: plan.path, Argv: plan.argv, Env: plan.env, Dir: plan.dir, Umask: plan.umask,
		Stdio:    io.files(),
		Approved: plan.approved,
		Want:     levels[spec.Contain], AllowWeaker: spec.AllowWeaker, Limits: spec.Limits,
	}
	return j.store.cfg.Launcher.Start(context.Background(), sp)
}
