package desk

import (
	"context"
	"os"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/control"
)

// Store is the desk of a server: every job of its store.
type Store struct {
	Jobs    *job.Store
	Role    string // mcp, daemon
	Scope   string // of a daemon
	Release string // version of the binary
}

// Serve answers at an endpoint of its own until Close.
func (s *Store) Serve(id string) (*control.Server, error) {
	return control.Listen(id, nil, s.Desk())
}

// Desk is the store as an endpoint sees it.
func (s *Store) Desk() control.Desk { return answers{s} }

// answers is a store as its endpoint sees it.
type answers struct{ s *Store }

// About tells who answers.
func (a answers) About() control.About {
	return control.About{Role: a.s.Role, Scope: a.s.Scope, PID: os.Getpid(), Release: a.s.Release}
}

// Jobs lists the records.
func (a answers) Jobs() []control.Job {
	snaps, _ := a.s.Jobs.List(job.Filter{})
	out := make([]control.Job, len(snaps))
	for i := range snaps {
		out[i] = tell(&snaps[i])
	}
	return out
}

// Logs reads a job's output.
func (a answers) Logs(ctx context.Context, q control.LogsQuery, say func(control.Said) error) (control.Job, error) {
	j, ok := a.s.Jobs.Get(q.ID)
	if !ok {
		return control.Job{}, control.ErrNoJob
	}
	err := Logs(ctx, j, q, say)
	return Of(j), err
}

// Stop ends a job by the one teardown.
func (a answers) Stop(ctx context.Context, o control.StopOrder, accepted func() error) (control.Job, error) {
	j, ok := a.s.Jobs.Get(o.ID)
	if !ok {
		return control.Job{}, control.ErrNoJob
	}
	k := job.Kill{NoWait: true}
	if o.Now {
		k.Signal = "SIGKILL"
	}
	if o.GraceMS != nil {
		grace := time.Duration(max(*o.GraceMS, 0)) * time.Millisecond
		k.Grace = &grace
	}
	if err := j.Kill(ctx, k); err != nil {
		return control.Job{}, err
	}
	if err := accepted(); err != nil {
		return control.Job{}, err
	}
	return Ended(ctx, j)
}

// Ended waits for the end of a job, and tells it.
func Ended(ctx context.Context, j *job.Job) (control.Job, error) {
	select {
	case <-j.Done():
	case <-ctx.Done():
		return control.Job{}, context.Cause(ctx)
	}
	return Of(j), nil
}

// Of is a job as it is now.
func Of(j *job.Job) control.Job {
	snap := j.Snapshot()
	return tell(&snap)
}
