package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/spf13/cobra"
)

func (a *App) waitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "wait --run-id ID | --all [--label KEY=VALUE]... [--timeout D] [--report-outcome] [--strict]",
		DisableFlagsInUseLine: true,
		Short:                 "Wait until a run is over",
		Long: `Wait until no live run has this id, or with --all until every run that is live
now is over. The kernel wakes it when the runner is gone, however it died.

It does not end with the run's own status; --report-outcome prints that, for
ten minutes after the end.

Exit status:
  0 over, or not known                  112 --timeout passed, and the run goes on
  103 more than one live run has the id, or with --strict the id is not known
  111 the registry cannot be read       100 the command line was not understood`,
		Example: `  belfry wait --run-id nightly --report-outcome
  belfry wait --all --timeout 10m`,
		Args: noArguments,
	}
	sel := selectMany(cmd)
	timeout := option(cmd, "timeout", "DURATION", "give up after so long: 500ms, 30, 5m, 2h")
	report := switchOption(cmd, "report-outcome", "print how it ended as JSON")
	strict := switchOption(cmd, "strict", "an id that nobody knows is an error")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var limit time.Duration
		err := sel.read()
		if err == nil {
			err = readOption(timeout, "timeout", value.PositiveDuration, &limit)
		}
		if err == nil && strict.given && sel.id == "" {
			err = usage("", "--strict goes with --run-id")
		}
		if err != nil {
			return err
		}
		r, err := a.remote("")
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, limit, errWaited)
			defer cancel()
		}
		over, err := waitFor(ctx, r, sel)
		if err != nil {
			return a.waitFailed(sel.id, limit, err)
		}
		if strict.given && !over[0].Seen {
			return unreached(sel.id, registry.ErrNotFound)
		}
		if !report.given {
			return nil
		}
		return a.printOutcomes(over, sel.id == "")
	}
	return cmd
}

// errWaited: the deadline of wait itself passed.
var errWaited = errors.New("the wait is over")

func waitFor(ctx context.Context, r runner.Remote, sel *selection) ([]runner.Waited, error) {
	if sel.id == "" {
		return r.WaitAll(ctx, sel.want)
	}
	w, err := r.Wait(ctx, sel.id)
	return []runner.Waited{w}, err
}

func (a *App) waitFailed(id string, limit time.Duration, err error) error {
	switch {
	case errors.Is(err, errWaited):
		what := "run " + shown(id) + " is not over"
		if id == "" {
			what = "not every run is over"
		}
		return &failure{status: runner.ExitWaitTimeout, runID: id, err: fmt.Errorf("%s after %s", what, value.FormatDuration(limit))}
	case errors.Is(err, registry.ErrAmbiguous):
		return unreached(id, err)
	}
	// What keeps the registry from being read is no matter of one run.
	return &failure{status: runner.ExitSetup, kind: kindRegistry, runID: id, err: err}
}

// outcome is how a run ended.
type outcome struct {
	RunID     string  `json:"run_id"`
	Status    string  `json:"status"` // reported, unknown
	Code      *int    `json:"code"`
	Source    *string `json:"source"`
	ChildCode *int    `json:"child_code"`
}

func (a *App) printOutcomes(over []runner.Waited, all bool) error {
	report := []outcome{}
	for _, w := range over {
		o := outcome{RunID: w.RunID, Status: "unknown"}
		if w.Outcome != nil {
			o.Status, o.Code, o.Source, o.ChildCode = "reported", &w.Outcome.Code, &w.Outcome.Source, w.Outcome.ChildCode
		}
		report = append(report, o)
	}
	if all {
		return a.printLine(report)
	}
	return a.printLine(report[0])
}
