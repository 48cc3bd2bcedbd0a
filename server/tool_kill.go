package server

import (
	"context"
	"errors"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

func (s *Server) killTool() wire.Tool {
	return wire.Tool{
		Name: "kill", Title: "Stop a job",
		Description: "End the whole process tree of a job: SIGTERM, a grace, then SIGKILL, and wait until it is gone. " +
			"kill_confirmed true means the system saw the tree empty; otherwise survivors names what is left. " +
			"SIGKILL skips the grace; any other signal is only sent once. " +
			"A queued job is taken out of the queue; on an ended job nothing happens.",
		InputSchema: schema(killInput), OutputSchema: schema(recordOutput),
		Annotations: hints(false, true, true, false),
		Handle:      s.kill,
	}
}

func (s *Server) kill(ctx context.Context, c *wire.Call) wire.Result {
	a := parseArgs(c.Arguments)
	k := job.Kill{NoWait: !a.flag("wait", true), Grace: a.span("grace_ms", true)}
	if sig, ok := a.text("signal"); ok {
		if sig == "" {
			a.refuse("signal", `must not be empty; leave it out for SIGTERM`)
		}
		k.Signal = sig
	}
	j, no := s.find("kill", a)
	if no != nil {
		return *no
	}
	switch err := end(ctx, j, k); {
	case errors.Is(err, errCallOver):
		return fail("kill", "the call was cancelled; the job is being ended all the same")
	case err != nil:
		return failed("kill", err)
	}
	snap := j.Snapshot()
	return reply(s.payload(&snap))
}

var errCallOver = errors.New("the call is over, the job is being ended")

// end kills a job. Once asked for, that does not depend on the call: neither a
// cancel nor the end of the connection takes it back.
func end(ctx context.Context, j *job.Job, k job.Kill) error {
	done := make(chan error, 1)
	go func() { done <- j.Kill(context.WithoutCancel(ctx), k) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errCallOver
	}
}
