package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/desk"
)

// counter is the run as the one job of its runner, for those who look at jobs
// and stop them.
type counter struct{ r *run }

// About tells who answers.
func (c counter) About() control.About {
	return control.About{Role: "run", PID: os.Getpid(), Release: c.r.o.Release}
}

// Jobs is the run.
func (c counter) Jobs() []control.Job {
	r := c.r
	if !closed(r.started) || r.job == nil {
		return []control.Job{{ID: r.id, State: string(job.Starting), Command: filepath.Base(r.o.Argv[0]), Started: FormatTime(r.began)}}
	}
	return []control.Job{c.tell(desk.Of(r.job))}
}

// tell gives the job the name and the beginning of the run.
func (c counter) tell(j control.Job) control.Job {
	j.ID, j.Started, j.Label = c.r.id, FormatTime(c.r.began), ""
	if !c.r.kept() {
		j.Counts = nil // nobody counts
	}
	return j
}

var (
	errNotKept = errors.New("what the run says goes to whoever started it, and is not kept (--no-echo and --detach keep it)")
	errNoStart = errors.New("the run did not start")
)

// job waits until the run has started, and gives its job.
func (c counter) job(ctx context.Context, id string) (*job.Job, error) {
	if id != c.r.id {
		return nil, control.ErrNoJob
	}
	select {
	case <-c.r.started:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c.r.job == nil {
		return nil, errNoStart
	}
	return c.r.job, nil
}

// kept reports whether what the command says is kept in memory: where it goes
// nowhere else.
func (r *run) kept() bool { return r.o.NoEcho && !r.o.Inherit }

// Logs tells what the command said, as far as it is kept in memory.
func (c counter) Logs(ctx context.Context, q control.LogsQuery, say func(control.Said) error) (control.Job, error) {
	j, err := c.job(ctx, q.ID)
	switch {
	case err != nil:
		return control.Job{}, err
	case !c.r.kept():
		return control.Job{}, errNotKept
	}
	err = desk.Logs(ctx, j, q, say)
	return c.tell(desk.Of(j)), err
}

// Stop is cancel with a grace of its own, or kill, and the wait for the end.
func (c counter) Stop(ctx context.Context, o control.StopOrder, accepted func() error) (control.Job, error) {
	j, err := c.job(ctx, o.ID)
	if err != nil {
		return control.Job{}, err
	}
	by := byControlStop
	switch {
	case o.Now:
		by = byControlKill
	case o.GraceMS != nil:
		grace := time.Duration(max(*o.GraceMS, 0)) * time.Millisecond
		c.r.stopGrace.CompareAndSwap(nil, &grace) // the first end that was asked for counts
	}
	c.r.end(by, o.Now)
	if err := accepted(); err != nil {
		return control.Job{}, err
	}
	told, err := desk.Ended(ctx, j)
	return c.tell(told), err
}
