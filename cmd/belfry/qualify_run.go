package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/belfry-dev/belfry/sys"
)

// scratch is the run that doctor makes.
type scratch struct {
	app    *App
	remote runner.Remote
	wanted wanted
	report qualification

	dir    string // of its files
	id     string
	entry  registry.Entry
	cmd    *exec.Cmd
	done   chan struct{} // closed when the runner has ended
	stderr bytes.Buffer  // valid then
}

// launchPause is how often is looked whether the run has begun: its record
// comes from another process, and no event tells of a new one.
const launchPause = 20 * time.Millisecond

func (s *scratch) stream() string { return filepath.Join(s.dir, "events.jsonl") }

// launch starts this binary's run of this binary, and returns when it is listed
// and its program runs.
func (s *scratch) launch(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.id = "doctor-" + strings.ToLower(rand.Text())
	long := value.FormatDuration(s.wanted.limit)
	s.cmd = exec.Command(self)
	s.cmd.Args = []string{os.Args[0], "run", "--run-id", s.id, "--jsonl", s.stream(), "--no-echo", "--grace", "5s",
		"--timeout", long, "--", self, "doctor", "--scratch-child", long}
	s.cmd.Stderr = &s.stderr
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", self, err)
	}
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		// The status is read from the process's state.
		_ = s.cmd.Wait()
	}()
	for {
		if s.entry, err = s.remote.Registry.Find(s.id); err == nil && s.started() {
			return nil
		}
		pause := time.NewTimer(launchPause)
		select {
		case <-pause.C:
		case <-s.done:
			return fmt.Errorf("the runner ended with status %d: %s", s.cmd.ProcessState.ExitCode(), value.Reason(strings.TrimSpace(s.stderr.String())))
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// started looks for the run's first event.
func (s *scratch) started() bool {
	var e runner.RunStarted
	if !s.event(runner.EventRunStarted, &e) || e.RunID != s.id {
		return false
	}
	s.report.Containment = &qualifiedContainer{Mechanism: e.Mechanism, AbruptCleanup: e.AbruptCleanup, RootPID: e.RootPID}
	return true
}

// event reads the last event of a name from the stream.
func (s *scratch) event(name runner.Name, into any) (found bool) {
	err := runner.ReadEvents(s.stream(), func(l runner.Line) error {
		if l.Check() != nil {
			return nil
		}
		var e struct {
			Event runner.Name `json:"event"`
		}
		if json.Unmarshal(l.Data, &e) == nil && e.Event == name {
			found = json.Unmarshal(l.Data, into) == nil
		}
		return nil
	})
	return found && err == nil
}

// exited is the runner's own exit code.
func (s *scratch) exited(ctx context.Context) (int, error) {
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// cleanup reads what the run said of its end and looks at what it left.
func (s *scratch) cleanup(context.Context) error {
	c := &qualifiedCleanup{RemainingPIDs: []int{}}
	s.report.Cleanup = c
	var before runner.CleanupStarted
	var after runner.CleanupFinished
	if !s.event(runner.EventCleanupStarted, &before) || !s.event(runner.EventCleanupFinished, &after) {
		return errors.New("the stream does not tell of the cleanup")
	}
	if !before.ReadError {
		c.MembersBefore = &before.MembersBefore
	}
	if !after.ReadError {
		c.Remaining = &after.Remaining
	}
	c.RemainingPIDs = append(c.RemainingPIDs, after.RemainingPIDs...)
	c.ReadError, c.KillError = after.ReadError, after.KillError
	c.ConfirmedEmpty = after.Remaining == 0 && len(after.RemainingPIDs) == 0 && !after.ReadError && !after.KillError
	c.Conclusive = !before.ReadError && !after.ReadError
	c.RecordRemoved = s.gone()
	c.EndpointRemoved = released(s.entry.Endpoint)
	c.ScratchRemoved = true // unless something fails: then it is kept
	switch {
	case !c.ConfirmedEmpty:
		return fmt.Errorf("the tree is not confirmed empty: %d remain", after.Remaining)
	case !c.RecordRemoved:
		return errors.New("the run is still on the list")
	case !c.EndpointRemoved:
		return fmt.Errorf("%s is still there", s.entry.Endpoint)
	}
	return nil
}

// released reports whether an endpoint of a run is gone.
func released(endpoint string) bool {
	dir := sys.TempEndpointDir(endpoint)
	if dir == "" {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c, _, err := sys.DialEndpoint(ctx, endpoint)
		if err == nil {
			c.Close()
		}
		return err != nil
	}
	_, err := os.Lstat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// controllers finds out by trying whether limits can be enforced.
func (s *scratch) controllers(ctx context.Context) error {
	h, err := s.app.newHost()
	if err != nil {
		return err
	}
	report := h.Probe(ctx)
	if err := h.Close(); err != nil {
		return fmt.Errorf("close host: %w", err)
	}
	c := &qualifiedController{Requested: "memory, processes and cpu", Available: len(report.Limits) > 0}
	for _, l := range report.Limits {
		if !l.Enforced && c.Available {
			detail := string(l.Limit) + ": " + string(l.Reason) + ": " + l.Detail
			c.Available, c.Detail = false, &detail
		}
	}
	s.report.Controller = c
	return nil
}

// abandon ends the run when a phase failed before its end, and removes nothing
// else: the files are what tells why.
func (s *scratch) abandon() {
	if s.done == nil {
		return
	}
	select {
	case <-s.done:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := s.remote.End(ctx, s.id, true); err != nil {
		// Best effort: the runner's tree ends with it.
		_ = s.cmd.Process.Kill()
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		_ = s.cmd.Process.Kill()
		<-s.done
	}
}
