package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/console"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/spf13/cobra"
)

func (a *App) jobsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "jobs [--live] [--json]",
		DisableFlagsInUseLine: true,
		Short:                 "List what agents run: the jobs of every server, and every run",
		Long: `Ask every belfry mcp, every shared server and every live run of this user for
its jobs, and list them: those that wait or run first, then the latest, among
them detached ones that are over and that no server has. Of a server that was
killed it is said that its jobs have ended with it, except detached ones.
Arguments are never shown. Colours are for terminals, and left out where NO_COLOR
is set.

Exit status:
  0 listed; also when there is none      100 the command line was not understood
  103 a live server did not answer       111 the registry cannot be read`,
		Example: `  belfry jobs
  belfry jobs --live --json`,
		Args: noArguments,
	}
	live := switchOption(cmd, "live", "only jobs that wait or run")
	asJSON := switchOption(cmd, "json", "print one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, v, err := a.look(cmd.Context(), !live.given)
		if err != nil {
			return err
		}
		if live.given {
			v.Jobs = slices.DeleteFunc(v.Jobs, func(j console.Job) bool { return !j.Live() })
		}
		if asJSON.given {
			err = a.printJobs(&v)
		} else {
			err = a.printJobTable(&v)
		}
		if err != nil {
			return err
		}
		return a.silent(&v, asJSON.given)
	}
	return cmd
}

func (a *App) printJobs(v *console.View) error {
	for i := range v.Jobs {
		if err := a.printLine(jobLine(v.Jobs[i].Job, v.Jobs[i].Source)); err != nil {
			return err
		}
	}
	return nil
}

// silentServer is a line of jobs --json for a server of whose jobs nothing is
// known.
type silentServer struct {
	Server listedServer `json:"server"`
	Error  string       `json:"error"`
}

// silent tells of the servers of which nothing is known, and fails where one of
// them is not known to be dead.
func (a *App) silent(v *console.View, asJSON bool) error {
	mute := 0
	for _, s := range v.Silent {
		if s.Health != registry.Stale {
			mute++
		}
		switch {
		case asJSON:
			if err := a.printLine(silentServer{serverLine(s), s.Err.Error()}); err != nil {
				return err
			}
		case s.Health == registry.Stale:
			a.logf("server %s: %v (belfry prune forgets it)", shown(s.ID), s.Err)
		default:
			a.logf("warning: server %s: %v", shown(s.ID), s.Err)
		}
	}
	a.warnUnreadable(v.Unreadable)
	if mute > 0 {
		return &failure{status: runner.ExitControl, kind: "control_unreachable",
			err: fmt.Errorf("%s did not answer", plural(mute, "live server", "live servers"))}
	}
	return nil
}

func (a *App) printJobTable(v *console.View) error {
	if len(v.Jobs) == 0 {
		return a.printf("no jobs\n")
	}
	now := time.Now()
	t := table{columns: []column{{head: "ID"}, {head: "STATE"}, {head: "AGE"}, {head: "LINES"},
		{head: "COMMAND", least: 12}, {head: "LABEL", least: 12}, {head: "SERVER", spare: 1}}}
	for i := range v.Jobs {
		j := &v.Jobs[i]
		label := j.Label
		if label == "job "+j.ID {
			label = ""
		}
		is := shown(state(&j.Job))
		t.add(cell{shown(j.ID), ""}, cell{is, stateColour(is)}, cell{ago(j.Started, now), ""}, cell{lineCount(&j.Job), ""},
			cell{orDash(&j.Command), ""}, cell{orDash(&label), ""}, cell{whose(j.Source), faint})
	}
	return a.printTable(&t)
}

func lineCount(j *control.Job) string {
	if j.Counts == nil {
		return "-"
	}
	return fmt.Sprint(j.Counts.StdoutLines + j.Counts.StderrLines)
}
