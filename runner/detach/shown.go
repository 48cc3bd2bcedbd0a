package detach

import (
	"context"

	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/desk"
)

// shown is the job for those who look at jobs and stop them.
type shown struct{ s *supervised }

// desk waits until the job is begun; nil where it could not be.
func (d shown) desk() control.Desk {
	if <-d.s.ready; d.s.job == nil {
		return nil
	}
	return (&desk.Store{Jobs: d.s.store, Role: "run", Release: d.s.o.Version}).Desk()
}

// About tells who answers.
func (d shown) About() control.About {
	return (&desk.Store{Role: "run", Release: d.s.o.Version}).Desk().About()
}

// Jobs is the one job.
func (d shown) Jobs() []control.Job {
	if at := d.desk(); at != nil {
		return at.Jobs()
	}
	return nil
}

// Logs tells what it said.
func (d shown) Logs(ctx context.Context, q control.LogsQuery, say func(control.Said) error) (control.Job, error) {
	if at := d.desk(); at != nil {
		return at.Logs(ctx, q, say)
	}
	return control.Job{}, control.ErrNoJob
}

// Stop ends it.
func (d shown) Stop(ctx context.Context, o control.StopOrder, accepted func() error) (control.Job, error) {
	if at := d.desk(); at != nil {
		return at.Stop(ctx, o, accepted)
	}
	return control.Job{}, control.ErrNoJob
}
