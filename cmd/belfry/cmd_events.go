package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-dev/belfry/runner"
	"github.com/spf13/cobra"
)

// eventsFlags are the options of the verb events.
type eventsFlags struct {
	runID, file, asJSON, validate, follow *once
}

func (a *App) eventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "events --run-id ID | --file FILE [--json | --validate] [--follow]",
		DisableFlagsInUseLine: true,
		Short:                 "Read the event stream of a run",
		Long: `Print the events of a run: one line each for people, or the lines as they are
with --json. What is no event is told on stderr and passed over, so that a
stream that was cut stays readable. A run that ended can be named for ten
minutes; after that its file. Colours are for terminals, and left out where
NO_COLOR is set.

--follow goes on as events are written, and ends after runner_exit, or half a
second after the runner is gone. --validate checks every line against the
published schema and prints which are invalid, and why.

Exit status:
  0 read                                 111 the stream cannot be read
  103 the run is not known, or has no stream
  114 --validate found an invalid line   100 the command line was not understood`,
		Example: `  belfry events --run-id nightly --follow
  belfry events --file run.jsonl --validate`,
		Args: noArguments,
	}
	f := eventsFlags{
		runID:    option(cmd, "run-id", "ID", "the stream of this run"),
		file:     option(cmd, "file", "FILE", "the stream in this file"),
		asJSON:   switchOption(cmd, "json", "print the lines as they are"),
		validate: switchOption(cmd, "validate", "check the lines and print which are invalid"),
		follow:   switchOption(cmd, "follow", "go on until the run is over"),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		id, path, err := a.eventsOf(f)
		if err != nil {
			return err
		}
		v := &view{app: a, asJSON: f.asJSON.given, validate: f.validate.given, screen: a.screen()}
		err = v.read(cmd.Context(), path, f.follow.given)
		switch {
		case errors.Is(err, runner.ErrNoRunnerExit):
			a.logf("%v", err)
		case errors.Is(err, errOutput):
			return err
		case err != nil:
			return &failure{status: runner.ExitSetup, runID: id, err: err}
		}
		return v.verdict(id)
	}
	return cmd
}

// eventsOf finds the file that is meant.
func (a *App) eventsOf(f eventsFlags) (id, path string, err error) {
	switch {
	case f.runID.given == f.file.given:
		return "", "", usage("", "events needs one of --run-id ID and --file FILE")
	case f.asJSON.given && f.validate.given:
		return "", "", usage("", "--json and --validate exclude each other")
	}
	if err := readOption(f.runID, "run-id", runID, &id); err != nil {
		return "", "", err
	}
	if f.file.given {
		err := readOption(f.file, "file", nonEmpty, &path)
		return "", path, err
	}
	r, err := a.remote(id)
	if err != nil {
		return "", "", err
	}
	path, err = r.Stream(id)
	if err != nil {
		return "", "", unreached(id, err)
	}
	return id, path, nil
}

// errOutput: what was read could not be written.
var errOutput = errors.New("write the output")

// view prints the lines of a stream in one of three ways.
type view struct {
	app              *App
	asJSON, validate bool
	screen           screen
	lines, bad       int
}

func (v *view) read(ctx context.Context, path string, follow bool) error {
	if follow {
		return runner.FollowEvents(ctx, path, v.line)
	}
	return runner.ReadEvents(path, v.line)
}

func (v *view) line(l runner.Line) error {
	v.lines++
	if v.validate {
		err := l.Check()
		if err == nil {
			return nil
		}
		v.bad++
		return v.print("line %d: %s\n", l.N, shown(err.Error()))
	}
	e, err := l.Show()
	switch {
	case err != nil:
		v.bad++
		v.app.logf("line %d: %v", l.N, err)
		return nil
	case v.asJSON:
		return v.print("%s\n", l.Data)
	}
	return v.print("%s\n", v.screen.event(e))
}

func (v *view) print(format string, args ...any) error {
	if err := v.app.printf(format, args...); err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	return nil
}

// verdict ends the report.
func (v *view) verdict(id string) error {
	switch {
	case v.validate && v.bad == 0:
		return v.print("checked %s: all valid\n", plural(v.lines, "line", "lines"))
	case v.validate:
		if err := v.print("checked %s: %d valid, %d invalid\n", plural(v.lines, "line", "lines"), v.lines-v.bad, v.bad); err != nil {
			return err
		}
		return &failure{status: runner.ExitEventsInvalid, runID: id, told: true,
			err: fmt.Errorf("%d of %d lines are invalid", v.bad, v.lines)}
	case v.lines == 0 && !v.asJSON:
		return v.print("no events in the stream\n")
	}
	return nil
}
