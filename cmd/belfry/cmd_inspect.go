package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/spf13/cobra"
)

func (a *App) inspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "inspect --run-id ID | --all [--label KEY=VALUE]... [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "Ask a live run what it is and which processes it has",
		Long: `Ask the runner of a live run which processes are in its tree, what contains
them, and where its event stream and transcripts are.

Exit status:
  0 told; with --all also when there is none     100 the command line was not understood
  103 a run cannot be found or reached           111 the registry cannot be read`,
		Example: `  belfry inspect --run-id nightly
  belfry inspect --all --label team=build --json`,
		Args: noArguments,
	}
	sel := selectMany(cmd)
	asJSON := switchOption(cmd, "json", "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := a.reach(sel)
		if err != nil {
			return err
		}
		if sel.id == "" {
			return a.inspectAll(cmd.Context(), r, sel.want, asJSON.given)
		}
		s, err := r.Inspect(cmd.Context(), sel.id)
		if err != nil {
			return unreached(sel.id, err)
		}
		if asJSON.given {
			return a.printLine(s)
		}
		return a.printSnapshot(s)
	}
	return cmd
}

// inspected is one run of inspect --all.
type inspected struct {
	RunID    string            `json:"run_id"`
	Status   string            `json:"status"` // inspected, already_gone, failed
	Snapshot *control.Snapshot `json:"snapshot"`
	Error    *string           `json:"error"`
}

func (a *App) inspectAll(ctx context.Context, r runner.Remote, labels map[string]string, asJSON bool) error {
	all, unsure := r.InspectAll(ctx, labels)
	if unsure != nil && !errors.Is(unsure, registry.ErrUnprobed) {
		return unreached("", unsure)
	}
	report, failed := []inspected{}, 0
	for _, x := range all {
		one := inspected{RunID: x.RunID, Status: string(x.Word), Error: errorText(x.Err)}
		switch x.Word {
		case runner.Reached:
			one.Status, one.Snapshot = "inspected", &x.Value
		case runner.Failed:
			failed++
		}
		report = append(report, one)
	}
	var err error
	if asJSON {
		err = a.printLine(report)
	} else {
		err = a.printInspected(report)
	}
	if err != nil {
		return err
	}
	return someFailed(failed, len(report), unsure)
}

func (a *App) printInspected(report []inspected) error {
	if len(report) == 0 {
		return a.printf("no live runs to inspect\n")
	}
	t := table{columns: []column{{head: "RUN_ID"}, {head: "STATUS"}, {head: "ERROR"}}}
	for _, x := range report {
		t.add(cell{shown(x.RunID), ""}, cell{x.Status, stateColour(x.Status)}, cell{orDash(x.Error), ""})
	}
	if err := a.printTable(&t); err != nil {
		return err
	}
	for _, x := range report {
		if x.Snapshot == nil {
			continue
		}
		if err := a.printf("\n"); err != nil {
			return err
		}
		if err := a.printSnapshot(*x.Snapshot); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) printSnapshot(s control.Snapshot) error {
	for _, line := range [][2]string{
		{"run_id", shown(s.RunID)},
		{"mechanism", shown(s.Mechanism)},
		{"root_pid", number(s.RootPID)},
		{"started_at", shown(s.StartedAt)},
		{"jsonl", orDash(s.JSONL)},
		{"capture_dir", orDash(s.CaptureDir)},
		{"members", strconv.Itoa(len(s.Members))},
	} {
		if err := a.printf("%-19s%s\n", line[0]+":", line[1]); err != nil {
			return err
		}
	}
	if len(s.Members) == 0 {
		return a.printf("(none)\n")
	}
	t := table{columns: []column{{head: "PID"}, {head: "PPID"}, {head: "NAME"}, {head: "START_TIME"}}}
	for _, m := range s.Members {
		t.add(cell{strconv.Itoa(m.PID), ""}, cell{number(m.PPID), ""}, cell{orDash(m.Name), ""}, cell{orDash(m.StartTime), faint})
	}
	return a.printTable(&t)
}

// orDash is a text of somebody else's for a person, - for none.
func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return shown(*s)
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}
