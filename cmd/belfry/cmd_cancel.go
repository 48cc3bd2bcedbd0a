package main

import (
	"context"
	"errors"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/spf13/cobra"
)

func (a *App) cancelCommand() *cobra.Command {
	return a.endCommand(false, &cobra.Command{
		Use:   "cancel --run-id ID | --all [--label KEY=VALUE]...",
		Short: "Ask a live run to end gracefully",
		Long: `Ask the runner of a live run to end its tree: the soft stop, then the run's own
--grace, then the hard kill. It returns as soon as the runner has accepted, and
prints what it said; belfry wait waits for the end.

Exit status:
  0 accepted; with --all also when there is none  100 the command line was not understood
  103 a run cannot be found or reached            111 the registry cannot be read`,
		Example: `  belfry cancel --run-id nightly && belfry wait --run-id nightly
  belfry cancel --all --label team=build`,
	})
}

func (a *App) killCommand() *cobra.Command {
	return a.endCommand(true, &cobra.Command{
		Use:   "kill --run-id ID | --all [--label KEY=VALUE]...",
		Short: "Tell a live run to kill its tree at once",
		Long: `Tell the runner of a live run to kill its tree, without a soft stop and without
a grace. It also ends a grace that is under way. It returns as soon as the
runner has accepted, and prints what it said.

Exit status:
  0 accepted; with --all also when there is none  100 the command line was not understood
  103 a run cannot be found or reached            111 the registry cannot be read`,
		Example: `  belfry kill --run-id nightly
  belfry kill --all`,
	})
}

func (a *App) endCommand(hard bool, cmd *cobra.Command) *cobra.Command {
	cmd.Args = noArguments
	cmd.DisableFlagsInUseLine = true
	sel := selectMany(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := a.reach(sel)
		if err != nil {
			return err
		}
		if sel.id == "" {
			return a.endAll(cmd.Context(), r, sel.want, hard)
		}
		ack, err := r.End(cmd.Context(), sel.id, hard)
		if err != nil {
			return unreached(sel.id, err)
		}
		return a.printLine(ack)
	}
	return cmd
}

// endedRun is one run of cancel --all or kill --all.
type endedRun struct {
	RunID    string  `json:"run_id"`
	Accepted bool    `json:"accepted"`
	Status   string  `json:"status"` // accepted, already_gone, failed
	Error    *string `json:"error"`
}

func (a *App) endAll(ctx context.Context, r runner.Remote, labels map[string]string, hard bool) error {
	all, unsure := r.EndAll(ctx, labels, hard)
	if unsure != nil && !errors.Is(unsure, registry.ErrUnprobed) {
		return unreached("", unsure)
	}
	report, failed := []endedRun{}, 0
	for _, x := range all {
		one := endedRun{RunID: x.RunID, Status: string(x.Word), Error: errorText(x.Err)}
		switch x.Word {
		case runner.Reached:
			one.Accepted, one.Status = true, "accepted"
		case runner.Failed:
			failed++
		}
		report = append(report, one)
	}
	if err := a.printLine(report); err != nil {
		return err
	}
	return someFailed(failed, len(report), unsure)
}
