package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/console"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/spf13/cobra"
)

func (a *App) stopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "stop [--now | --grace DURATION] [--no-wait] [--json] ID... | --all",
		DisableFlagsInUseLine: true,
		Short:                 "Stop a job or a run, whoever runs it",
		Long: `End the whole process tree of a job, of any server, or of a run: the soft stop,
the grace, then the hard kill; with --now the hard kill at once. It returns when
the tree has ended; --no-wait returns as soon as it is certain that it will. ID
is a job's id as agents see it or a run's id, or the beginning of one that no
other has. The agent sees the job as killed. A job that has ended is left alone.

Exit status:
  0 ended, or had ended                  100 the command line was not understood
  103 no such job, it cannot be reached, or its end was not proved
  111 the registry cannot be read`,
		Example: `  belfry stop 3f2a
  belfry stop --now --all`,
	}
	f := stopFlags{
		now:    switchOption(cmd, "now", "the hard kill at once"),
		grace:  option(cmd, "grace", "DURATION", "between soft stop and hard kill (the server's own; of a run 5s)"),
		noWait: switchOption(cmd, "no-wait", "do not wait for the end"),
		all:    switchOption(cmd, "all", "every job and run that waits or runs"),
		asJSON: switchOption(cmd, "json", "print one JSON object a line"),
	}
	cmd.Args = f.check
	cmd.ValidArgsFunction = a.jobIDs(false)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		var grace time.Duration
		if err := readOption(f.grace, "grace", value.Duration, &grace); err != nil {
			return err
		}
		if f.now.given && f.grace.given {
			return usage("", "--now and --grace exclude each other")
		}
		o := control.StopOrder{Now: f.now.given}
		if f.grace.given {
			ms := grace.Milliseconds()
			o.GraceMS = &ms
		}
		return a.stop(cmd.Context(), ids, o, f)
	}
	return cmd
}

// stopFlags are the options of the verb stop.
type stopFlags struct{ now, grace, noWait, all, asJSON *once }

func (f stopFlags) check(_ *cobra.Command, ids []string) error {
	switch {
	case f.all.given && len(ids) > 0:
		return usage("", "--all and an id exclude each other")
	case !f.all.given && len(ids) == 0:
		return usage("belfry jobs lists the ids", "no job was named: ID, or --all")
	}
	for _, id := range ids {
		if id == "" {
			return usage("belfry jobs lists the ids", "an id is empty")
		}
	}
	return nil
}

// stop stops the jobs at once and tells of each in the order in which they were
// named. The failure is the first one's.
func (a *App) stop(ctx context.Context, ids []string, o control.StopOrder, f stopFlags) error {
	_, v, err := a.look(ctx, !f.all.given)
	if err != nil {
		return err
	}
	var jobs []console.Job
	var failed error
	fail := func(err error) {
		if failed == nil {
			failed = err
		} else {
			a.logf("%v", err)
		}
	}
	if f.all.given {
		for _, j := range v.Jobs {
			if j.Live() {
				jobs = append(jobs, j)
			}
		}
		if err := a.silent(&v, f.asJSON.given); err != nil {
			fail(err)
		}
	}
	for _, id := range ids {
		j, err := v.Find(id)
		if err != nil {
			fail(noJob(id, &v, err))
			continue
		}
		jobs = append(jobs, j)
	}
	ends := make([]stopped, len(jobs))
	var wait sync.WaitGroup
	for i := range jobs {
		wait.Go(func() { ends[i] = stopOne(ctx, jobs[i], o, f.noWait.given) })
	}
	wait.Wait()
	for i := range ends {
		if err := a.tellStopped(&v, &jobs[i], &ends[i], f.asJSON.given); err != nil {
			fail(err)
		}
	}
	if f.all.given && len(jobs) == 0 && !f.asJSON.given && failed == nil {
		return a.printf("no live jobs to stop\n")
	}
	return failed
}

// stopped is how the stop of a job went.
type stopped struct {
	job   control.Job
	going bool // it will end; nobody waited
	gone  bool // it ended with its server, or as the run that it is
	err   error
}

func stopOne(ctx context.Context, j console.Job, o control.StopOrder, noWait bool) stopped {
	waiting, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	end, err := j.Stop(waiting, o, func() {
		if noWait {
			leave(errAccepted)
		}
	})
	switch {
	case errors.Is(err, errAccepted):
		return stopped{job: j.Job, going: true}
	case errors.Is(err, console.ErrGone):
		return stopped{job: j.Job, gone: true}
	}
	return stopped{job: end, err: err}
}

// errAccepted: nobody waits for the end.
var errAccepted = errors.New("the job will end")

func (a *App) tellStopped(v *console.View, j *console.Job, s *stopped, asJSON bool) error {
	switch {
	case errors.Is(s.err, control.ErrNoJob):
		return noJob(j.ID, v, s.err) // forgotten meanwhile
	case s.err != nil:
		return lost(j, s.err)
	}
	var err error
	switch {
	case asJSON:
		err = a.printLine(jobLine(s.job, j.Source))
	case s.gone:
		err = a.printf("%s has ended\n", name(&j.Job))
	case !j.Live():
		err = a.printf("%s had ended: %s\n", name(&j.Job), state(&s.job))
	case s.going:
		err = a.printf("%s will end\n", name(&j.Job))
	default:
		err = a.printf("%s ended: %s\n", name(&j.Job), state(&s.job))
	}
	if err == nil && s.job.Confirmed != nil && !*s.job.Confirmed {
		err = &failure{status: runner.ExitControl, runID: j.ID,
			err: fmt.Errorf("%s: it was not proved that its whole tree has ended; left may be %v", name(&j.Job), s.job.Survivors)}
	}
	return err
}
