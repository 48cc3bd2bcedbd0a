package main

import (
	"errors"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/spf13/cobra"
)

func (a *App) attestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "attest --run-id ID [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Tell whether this very process runs inside a run",
		Long: `Ask the runner of a live run whether the process that asks is in its tree. The
runner decides by the process that the kernel names at the other end of the
connection, never by what it says.

Exit status:
  0 inside                              103 the run cannot be found, reached, or told who asks
  115 outside                           100 the command line was not understood`,
		Example: `  belfry run --run-id build -- belfry attest --run-id build
  belfry attest --run-id build --json`,
		Args: noArguments,
	}
	sel := selectOne(cmd)
	asJSON := switchOption(cmd, "json", "print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := a.reach(sel)
		if err != nil {
			return err
		}
		v, err := r.Attest(cmd.Context(), sel.id)
		if err != nil {
			return unreached(sel.id, err)
		}
		if asJSON.given {
			err = a.printLine(v)
		} else {
			err = a.printAttestation(v)
		}
		if err != nil {
			return err
		}
		switch v.Verdict {
		case control.Inside:
			return nil
		case control.Outside:
			return &failure{status: runner.ExitNotAMember, runID: sel.id, told: true, err: errors.New("this process is not in the run's tree")}
		}
		return &failure{status: runner.ExitControl, kind: control.NoPeer, runID: sel.id, told: true,
			err: errors.New("this system does not tell the runner who asks")}
	}
	return cmd
}

func (a *App) printAttestation(v control.Attestation) error {
	for _, line := range [][2]string{
		{"run_id", shown(v.RunID)},
		{"verdict", v.Verdict},
		{"peer_pid", number(v.PeerPID)},
		{"mechanism", shown(v.Mechanism)},
		{"checked_at", shown(v.CheckedAt)},
	} {
		if err := a.printf("%-22s%s\n", line[0]+":", line[1]); err != nil {
			return err
		}
	}
	return nil
}
