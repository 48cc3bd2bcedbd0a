package console

import (
	"context"
	"errors"

	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
)

// ErrGone: the server or the run ended in order before it could answer, and the
// job with it.
var ErrGone = errors.New("it has ended meanwhile")

// Logs reads what a job said, and with q.Follow what it says until its end.
func (j Job) Logs(ctx context.Context, q control.LogsQuery, heard func(control.Said) error) (control.Job, error) {
	q.ID = j.ID
	if d := j.Source.desk; d != nil {
		return d.Logs(ctx, q, heard)
	}
	end, err := control.Logs(ctx, j.Source.entry.Endpoint, q, heard)
	return end, j.Source.sort(ctx, err)
}

// Stop ends a job and gives it once it has ended. accepted is called as soon as
// it is certain that it will; the end of ctx ends the waiting alone.
func (j Job) Stop(ctx context.Context, o control.StopOrder, accepted func()) (control.Job, error) {
	o.ID = j.ID
	if d := j.Source.desk; d != nil {
		return d.Stop(ctx, o, func() error { accepted(); return nil })
	}
	end, err := control.Stop(ctx, j.Source.entry.Endpoint, j.Source.ID, o, accepted)
	return end, j.Source.sort(ctx, err)
}

// sort tells an end in order and a death from what else keeps a source from
// answering.
func (s *Source) sort(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case s.over(ctx, err):
		return ErrGone
	}
	if h, gone := s.entry.Now(); h == registry.Stale && !gone {
		return s.dead()
	}
	return err
}
