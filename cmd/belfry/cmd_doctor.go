package main

import (
	"github.com/spf13/cobra"
)

func (a *App) doctorCommand() *cobra.Command {
	var host, sweep bool
	cmd := &cobra.Command{
		Use:                   "doctor [--json] [--timeout D] [--check-resource-controller] [--require-...] | --host | --sweep",
		DisableFlagsInUseLine: true,
		Short:                 "Qualify this machine by a run of its own; end what was left",
		Long: `Run a run of its own as an adapter would: list it, inspect it, cancel it, wait
for it, and look at what it leaves. The report tells what was seen, and whether
this machine has what is required.

With --host: try every way to contain a process tree that this system has, and
print which of them work here, how far each reaches, which limits a job can be
given, and what would make the others work.

A column says how far that end of a job reaches: tree is every process it ever
started, group its process group and what ancestry finds, leader the started
process alone, none nothing, and tree_on_restart every process, once belfry
starts again or sweeps.

With --sweep: look at the record of every belfry of this user, end the trees
that a killed one has left, and remove its container. What a live one holds is
not touched. An outcome is ended, stale (nothing was left but the record), live,
unknown (not certainly ours, so left alone) or failed.

Exit status:
  0 qualified; --host: a way works; --sweep: nothing is left
  1 --host: none works; --sweep: something could not be swept
  116 not qualified, or not what is required
  111 it could not be tried              100 the command line was not understood`,
		Example: `  belfry doctor
  belfry doctor --json --require-abrupt-cleanup whole_tree`,
		Args: noArguments,
	}
	cmd.Flags().BoolVar(&host, "host", false, "look at this machine")
	cmd.Flags().BoolVar(&sweep, "sweep", false, "end what killed belfries have left")
	asJSON := switchOption(cmd, "json", "print JSON")
	plain := addQualify(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case host && sweep:
			return usage("", "--host and --sweep exclude each other")
		case (host || sweep) && plain.given():
			return usage("", "--host and --sweep go with --json alone")
		case plain.scratch.given && (asJSON.given || plain.qualifies()):
			return usage("", "--scratch-child stands alone")
		case host:
			return a.doctorHost(cmd.Context(), asJSON.given)
		case sweep:
			return a.doctorSweep(cmd.Context(), asJSON.given)
		}
		return a.doctorPlain(cmd.Context(), plain, asJSON.given)
	}
	return cmd
}
