package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/console"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/detach"
	"github.com/belfry-dev/belfry/sys"
	"github.com/spf13/cobra"
)

func (a *App) logsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "logs [-f] [-n N] [--stream stdout|stderr] [--timestamps | --json] ID",
		DisableFlagsInUseLine: true,
		Short:                 "Print what a job or a run says",
		Long: `Print what is kept of the output of a job, of any server, or of a run: standard
output to ours, standard error to ours. ID is a job's id as agents see it or a
run's id, or the beginning of one that no other has. Where lines are no longer
kept, because memory is bounded, their number is told on stderr.

-f goes on until the job has ended. A run keeps its output where it goes nowhere
else: with --detach or --no-echo. Of a run that has ended there are its
transcripts, if it had --capture-dir.

Exit status:
  0 printed                              100 the command line was not understood
  103 no such job, or it cannot be reached
  111 the registry or a transcript cannot be read`,
		Example: `  belfry logs -f 3f2a
  belfry logs -n 20 --stream stderr nightly`,
		Args: oneID,
	}
	follow := shortSwitch(cmd, "follow", "f", "go on until the job has ended")
	tail := shortOption(cmd, "tail", "n", "N", "only the newest N lines")
	stream := option(cmd, "stream", "stdout|stderr", "only this one")
	stamps := switchOption(cmd, "timestamps", "begin each line with the time at which it was read")
	asJSON := switchOption(cmd, "json", "print one JSON object a line")
	cmd.ValidArgsFunction = a.jobIDs(true)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p := &printer{app: a, stamps: stamps.given, asJSON: asJSON.given}
		q := control.LogsQuery{Follow: follow.given}
		err := readOption(tail, "tail", lineNumber, &q.Tail)
		if err == nil {
			err = readOption(stream, "stream", streamName, &p.only)
		}
		if err == nil && p.stamps && p.asJSON {
			err = usage("", "--timestamps and --json exclude each other: the lines of --json have a time")
		}
		if err != nil {
			return err
		}
		q.Stream = p.only
		return a.logs(cmd.Context(), args[0], q, p)
	}
	return cmd
}

func oneID(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usage("belfry jobs lists the ids", "no job was named")
	case len(args) > 1:
		return usage("", "one job at a time: %d were named", len(args))
	case args[0] == "":
		return usage("belfry jobs lists the ids", "the id is empty")
	}
	return nil
}

func lineNumber(s string) (*int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return nil, errors.New("it is a number of lines")
	}
	return &n, nil
}

func streamName(s string) (string, error) {
	if s != ring.Stdout.String() && s != ring.Stderr.String() {
		return "", errors.New("it is stdout or stderr")
	}
	return s, nil
}

func (a *App) logs(ctx context.Context, id string, q control.LogsQuery, p *printer) error {
	c, v, err := a.look(ctx, true)
	if err != nil {
		return err
	}
	j, err := v.Find(id)
	if err == nil {
		_, err = j.Logs(ctx, q, p.said)
	}
	// A detached job goes on without its server, or has left what it said.
	for errors.Is(err, console.ErrDead) || errors.Is(err, console.ErrGone) {
		next, ok := a.elsewhere(ctx, &j)
		if !ok {
			break
		}
		j = next
		q.Tail = p.resume(q.Tail)
		_, err = j.Logs(ctx, q, p.said)
	}
	if !p.begun && (errors.Is(err, console.ErrNotFound) || errors.Is(err, console.ErrGone)) {
		if err := a.unread(id); err != nil {
			return err
		}
		if t, ok := c.Ended(id); ok {
			return p.transcripts(t, q.Tail)
		}
	}
	switch {
	case j.Source == nil:
		return noJob(id, &v, err)
	case errors.Is(err, errOutput):
		return err
	case errors.Is(err, control.ErrNoJob):
		return noJob(id, &v, err) // forgotten meanwhile
	case err != nil && !(p.begun && errors.Is(err, console.ErrGone)):
		return lost(&j, err)
	}
	return nil
}

// unread is the failure of a detached job that has ended and whose journal cannot
// be read; nil where there is none.
func (a *App) unread(id string) error {
	state, err := sys.StateDir(a.Env)
	if err != nil {
		return nil // no job was detached
	}
	if err := (detach.Shelf{State: state}).Unread(id); err != nil {
		return &failure{status: runner.ExitSetup, runID: id, err: fmt.Errorf("%s: what it said cannot be shown: %w", shown(id), err),
			hint: "belfry prune removes it 7 days after its end"}
	}
	return nil
}

// elsewhere finds a job whose source has ended at another one.
func (a *App) elsewhere(ctx context.Context, j *console.Job) (console.Job, bool) {
	_, v, err := a.look(ctx, true)
	if err != nil {
		return console.Job{}, false
	}
	next, err := v.Find(j.ID)
	return next, err == nil && next.ID == j.ID && (next.Source.ID != j.Source.ID || next.Source.Health != j.Source.Health)
}

// printer prints the lines of a job.
type printer struct {
	app            *App
	only           string // of transcripts: a stream's name; "" is both
	stamps, asJSON bool
	begun          bool // something was to be printed
	since          resumption
}

// resume has what was printed passed over when another source tells all of it
// again. It gives the number of lines with which that one is to begin.
func (p *printer) resume(tail *int) *int {
	if !p.begun {
		return tail
	}
	p.since.again()
	return nil
}

// droppedLines is a line of logs --json for lines that are not kept.
type droppedLines struct {
	Stream  string `json:"stream"`
	Dropped uint64 `json:"dropped"`
}

func (p *printer) said(x control.Said) error {
	p.begun = true
	missing, tell := p.since.said(&x)
	for _, m := range missing {
		if err := p.print(m); err != nil {
			return err
		}
	}
	if !tell {
		return nil
	}
	return p.print(x)
}

func (p *printer) print(x control.Said) error {
	switch {
	case p.asJSON && x.Dropped > 0:
		return p.app.printLine(droppedLines{x.Stream, x.Dropped})
	case p.asJSON:
		return p.app.printLine(x)
	case x.Dropped > 0:
		p.app.logf("%s of %s not kept any more", plural(int(x.Dropped), "line", "lines"), shown(x.Stream))
		return nil
	}
	text := x.Text
	if p.stamps && x.Time != "" {
		text = shown(x.Time) + " " + text
	}
	if !x.Partial {
		text += "\n"
	}
	to := p.app.Stdout
	if x.Stream == ring.Stderr.String() {
		to = p.app.Stderr
	}
	if _, err := io.WriteString(to, text); err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	return nil
}
