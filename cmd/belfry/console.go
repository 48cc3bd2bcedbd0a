package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/console"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/detach"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/sys"
	"github.com/spf13/cobra"
)

// console opens what a person sees of all servers and runs.
func (a *App) console() (console.Console, error) {
	runs, err := registry.Dir(a.Env)
	if err != nil {
		return console.Console{}, unreached("", err)
	}
	servers, err := registry.ServersDir(a.Env)
	if err != nil {
		return console.Console{}, unreached("", err)
	}
	return console.Console{Servers: registry.OpenServers(servers), Runs: registry.Open(runs)}, nil
}

// look asks whoever runs, and for the jobs that wait and that no server has; with
// ended also for those that are over.
func (a *App) look(ctx context.Context, ended bool) (console.Console, console.View, error) {
	c, err := a.console()
	if err != nil {
		return c, console.View{}, err
	}
	// Without a state directory no job was detached.
	if state, err := sys.StateDir(a.Env); err == nil {
		c.Shelf = detach.Shelf{State: state, Live: !ended}
	}
	v, err := c.Look(ctx)
	if err != nil {
		return c, v, unreached("", err)
	}
	return c, v, nil
}

// listedJob is a job as the verbs print it with --json.
type listedJob struct {
	control.Job
	Server listedServer `json:"server"`
}

// listedServer is whose a job is.
type listedServer struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"` // mcp, daemon, run
	Scope   string          `json:"scope,omitempty"`
	PID     int             `json:"pid,omitempty"`
	Version string          `json:"version,omitempty"`
	Health  registry.Health `json:"health"`
}

func jobLine(j control.Job, s *console.Source) listedJob {
	return listedJob{j, serverLine(s)}
}

func serverLine(s *console.Source) listedServer {
	return listedServer{ID: s.ID, Role: s.Role, Scope: s.Scope, PID: s.PID, Version: s.Release, Health: s.Health}
}

// state is a job's state for a person.
func state(j *control.Job) string {
	switch {
	case j.Ending != "":
		return "ending"
	case j.Queue > 0:
		return fmt.Sprintf("queued %d", j.Queue)
	case j.State == "exited" && j.ExitCode != nil:
		return fmt.Sprintf("exited %d", *j.ExitCode)
	case j.State == "killed" && j.Signal != "":
		return "killed " + j.Signal
	}
	return j.State
}

// whose is a job's server for a person.
func whose(s *console.Source) string {
	text := s.Role
	if s.Scope != "" && s.Scope != defaultScope {
		text += " " + s.Scope
	}
	if s.PID != 0 {
		text += fmt.Sprintf(" %d", s.PID)
	}
	return shown(strings.TrimSpace(text))
}

// name is a job for a sentence: its id, and what a person calls it.
func name(j *control.Job) string {
	text := j.Label
	if text == "" || text == "job "+j.ID {
		text = j.Command
	}
	if text == "" {
		return shown(j.ID)
	}
	return shown(j.ID) + " (" + shown(text) + ")"
}

// ago is a span up to now in one unit, "" for no time.
func ago(stamp string, now time.Time) string {
	t, err := registry.ParseTime(stamp)
	if err != nil {
		return "-"
	}
	switch d := max(now.Sub(t), 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// noJob is the failure of a verb that finds no single job under an id.
func noJob(id string, v *console.View, err error) error {
	f := &failure{status: runner.ExitControl, kind: "not_found", runID: id, err: fmt.Errorf("%s: %w", shown(id), err),
		hint: "belfry jobs lists them"}
	if many, ok := errors.AsType[*console.AmbiguousError](err); ok {
		f.kind = "ambiguous_run_id"
		var b strings.Builder
		for i := range many.Among[:min(len(many.Among), mostCandidates)] {
			j := &many.Among[i]
			fmt.Fprintf(&b, "\n  %s  %s, %s", name(&j.Job), state(&j.Job), whose(j.Source))
		}
		if more := len(many.Among) - mostCandidates; more > 0 {
			fmt.Fprintf(&b, "\n  and %d more", more)
		}
		f.err = fmt.Errorf("%s: %w:%s", shown(id), err, b.String())
		f.hint = "give more of the id"
		return f
	}
	for _, s := range v.Silent {
		f.err = fmt.Errorf("%w; of %s nothing is known: %w", f.err, whose(s), s.Err)
	}
	return f
}

// lost is the failure of a verb that found a job and could not reach it.
func lost(j *console.Job, err error) error {
	f := &failure{status: runner.ExitControl, runID: j.ID, err: fmt.Errorf("%s, of %s: %w", name(&j.Job), whose(j.Source), err)}
	for _, c := range controlKinds {
		if errors.Is(err, c.err) {
			f.kind = c.kind
			break
		}
	}
	return f
}

// mostCandidates is the most jobs that are told where an id is not enough.
const mostCandidates = 10

// jobIDs completes the ids of jobs. all: also of those that have ended.
func (a *App) jobIDs(all bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionBound)
		defer cancel()
		_, v, err := a.look(ctx, all)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var ids []string
		for i := range v.Jobs {
			j := &v.Jobs[i].Job
			if strings.HasPrefix(j.ID, begun) && (all || j.Live()) {
				ids = append(ids, shown(j.ID)+"\t"+shown(strings.TrimSpace(j.Label+" "+state(j))))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// completionBound is how long a shell is kept waiting for ids.
const completionBound = 2 * time.Second
