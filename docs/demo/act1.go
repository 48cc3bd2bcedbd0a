package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// job is the part of a job's record that the demo looks at.
type job struct {
	JobID      string `json:"job_id"`
	State      string `json:"state"`
	ExitCode   *int   `json:"exit_code"`
	Signal     string `json:"signal"`
	EndedBy    string `json:"ended_by"`
	Mechanism  string `json:"mechanism"`
	Guarantee  struct{ Kill string }
	Confirmed  *bool `json:"kill_confirmed"`
	DurationMS int64 `json:"duration_ms"`
	Diagnostic *struct{ Message string }
	page
}

// page is a piece of output, and where to read on.
type page struct {
	Events []struct {
		Seq          int64
		Stream, Text string
	}
	NextCursor int64 `json:"next_cursor"`
	Reason     string
}

// actBuild runs the tests of a package of this repository in the background.
func (a *agent) actBuild(ctx context.Context, pkg string) error {
	env, err := goEnvironment()
	if err != nil {
		return err
	}
	say("\nAct 1. The agent wants the tests of %s run, and does not want to wait.", pkg)
	var build job
	if err := a.tool(ctx, "run", map[string]any{
		"command": []string{"go", "test", "-count=1", "-short", "-v", pkg},
		"env":     map[string]any{"vars": env},
		"label":   "tests of " + pkg,
	}, &build); err != nil {
		return err
	}
	if build.Diagnostic != nil {
		return fmt.Errorf("nothing was started: %s", build.Diagnostic.Message)
	}

	say("\nThe answer came at once, the tests go on. Meanwhile the agent does something else,")
	say("a second job, and waits for that one.")
	var other job
	if err := a.tool(ctx, "run", map[string]any{
		"command": []string{"go", "env", "GOVERSION", "GOOS", "GOARCH"}, "env": map[string]any{"vars": env},
	}, &other); err != nil {
		return err
	}
	if err := a.readToEnd(ctx, &other, func(string) {}); err != nil {
		return err
	}
	if other.ExitCode == nil || *other.ExitCode != 0 {
		return fmt.Errorf("go env ended %s", other.ending())
	}
	var jobs struct{ Jobs []job }
	if err := a.tool(ctx, "list", map[string]any{}, &jobs); err != nil {
		return err
	}

	say("\nBack to the tests: follow waits until there is something new, or the end.")
	passed, begin := 0, time.Now()
	err = a.readToEnd(ctx, &build, func(line string) {
		if strings.HasPrefix(line, "--- PASS") {
			passed++
		}
	})
	if err != nil {
		return err
	}
	say("  The agent waited %s and saw %d tests pass.", short(time.Since(begin)), passed)

	say("\nHow did it end? The last lines, and the record.")
	var last page
	if err := a.tool(ctx, "tail", map[string]any{"job_id": build.JobID, "lines": 3}, &last); err != nil {
		return err
	}
	if err := a.tool(ctx, "status", map[string]any{"job_id": build.JobID}, &build); err != nil {
		return err
	}
	if build.ExitCode == nil || *build.ExitCode != 0 {
		return fmt.Errorf("the tests ended %s", build.ending())
	}
	say("  Exit code 0 after %s.", short(time.Duration(build.DurationMS)*time.Millisecond))
	return nil
}

// shownFollows is how many calls of follow are shown one by one.
const shownFollows = 3

// readToEnd follows a job until it is over and shows every line to see.
func (a *agent) readToEnd(ctx context.Context, j *job, see func(line string)) error {
	var cursor int64
	calls, lines := 0, 0
	for over := false; !over; {
		if err := a.follow(ctx, j, cursor, calls >= shownFollows); err != nil {
			return err
		}
		calls++
		lines += len(j.Events)
		for _, e := range j.Events {
			see(e.Text)
		}
		over = j.Reason == "terminal" && j.NextCursor == cursor
		cursor = j.NextCursor
	}
	if calls > shownFollows {
		say("  ... and so on: %d calls in all, %d lines, none twice.", calls, lines)
	}
	return nil
}

// ending tells how a job ended, in words.
func (j *job) ending() string {
	switch {
	case j.ExitCode != nil:
		return fmt.Sprintf("with exit code %d", *j.ExitCode)
	case j.Signal != "":
		return "by " + j.Signal
	case j.Diagnostic != nil:
		return "before it began: " + j.Diagnostic.Message
	}
	return "as " + j.State
}
