package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/registry"
)

// The report of a plain doctor. A part is null when its phase was not reached.
type (
	qualification struct {
		Version     int                  `json:"doctor_version"`
		Binary      string               `json:"binary"`
		Release     string               `json:"version"`
		OS          string               `json:"os"`
		Qualified   bool                 `json:"qualified"`
		Registry    *qualifiedRegistry   `json:"registry"`
		Containment *qualifiedContainer  `json:"containment"`
		Control     *qualifiedControl    `json:"control"`
		Cleanup     *qualifiedCleanup    `json:"cleanup"`
		Controller  *qualifiedController `json:"resource_controller"`
		Phases      []qualifiedPhase     `json:"phases"`
		ElapsedMS   int64                `json:"elapsed_ms"`
		Failures    []string             `json:"failures"`
		Mismatches  []string             `json:"mismatches"`
		Diagnostics *string              `json:"diagnostics_dir"`
	}
	qualifiedRegistry struct {
		Dir        string `json:"dir"`
		OwnerOnly  bool   `json:"owner_only"`
		Protection string `json:"protection"` // posix_0700, windows_owner_only_dacl
	}
	qualifiedContainer struct {
		Mechanism     runner.Mechanism     `json:"mechanism"`
		AbruptCleanup runner.AbruptCleanup `json:"abrupt_cleanup"`
		RootPID       *int                 `json:"root_pid"`
	}
	qualifiedControl struct {
		Endpoint  string  `json:"endpoint"`
		Transport string  `json:"transport"` // unix_socket, windows_named_pipe
		Members   int     `json:"inspected_members"`
		Cancelled bool    `json:"cancel_acknowledged"`
		ExitCode  *int    `json:"terminal_exit_code"`
		Source    *string `json:"terminal_source"`
	}
	qualifiedCleanup struct {
		MembersBefore   *int  `json:"members_before"`
		Remaining       *int  `json:"remaining"`
		RemainingPIDs   []int `json:"remaining_pids"`
		ReadError       bool  `json:"read_error"`
		KillError       bool  `json:"kill_error"`
		ConfirmedEmpty  bool  `json:"confirmed_empty"`
		Conclusive      bool  `json:"teardown_snapshot_conclusive"`
		RecordRemoved   bool  `json:"registry_record_removed"`
		EndpointRemoved bool  `json:"endpoint_released"`
		ScratchRemoved  bool  `json:"scratch_removed"`
	}
	qualifiedController struct {
		Requested string  `json:"requested"`
		Available bool    `json:"available"`
		Detail    *string `json:"detail"`
	}
	qualifiedPhase struct {
		Phase     string  `json:"phase"`
		OK        bool    `json:"ok"`
		ElapsedMS int64   `json:"elapsed_ms"`
		Detail    *string `json:"detail"`
	}
)

// wanted is what a caller requires of this host.
type wanted struct {
	limit         time.Duration // for the whole
	controller    bool          // look for the controllers of limits
	mechanism     runner.Mechanism
	abrupt        runner.AbruptCleanup
	mustControl   bool
	scratchRunFor time.Duration
}

// qualify runs a run of its own from its start to its end, as an adapter would,
// and reports what it saw. The error tells that it could not even be tried.
func (a *App) qualify(ctx context.Context, w wanted) (qualification, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, w.limit, fmt.Errorf("not done within %v", w.limit))
	defer cancel()
	r, err := a.remote("")
	if err != nil {
		return qualification{}, err
	}
	dir, err := os.MkdirTemp("", "belfry-doctor-")
	if err != nil {
		return qualification{}, fmt.Errorf("make scratch folder: %w", err)
	}
	s := &scratch{app: a, remote: r, dir: dir, wanted: w}
	s.report = qualification{
		Version: 1, Binary: "belfry", Release: versionOf().Version, OS: runtime.GOOS,
		Phases: []qualifiedPhase{}, Failures: []string{}, Mismatches: []string{},
	}
	phases := []struct {
		name string
		do   func(context.Context) error
	}{
		{"registry", s.prepare},
		{"launch", s.launch},
		{"inspect", s.inspect},
		{"cancel", s.cancel},
		{"terminal_wait", s.wait},
		{"cleanup", s.cleanup},
	}
	for _, p := range phases {
		if !s.phase(ctx, p.name, p.do) {
			break
		}
	}
	if w.controller && len(s.report.Failures) == 0 {
		s.phase(ctx, "resource_controller", s.controllers)
	}
	s.abandon()
	s.require()
	report := &s.report
	if len(report.Failures) > 0 {
		report.Diagnostics = &dir
		if report.Cleanup != nil {
			report.Cleanup.ScratchRemoved = false
		}
	} else if err := os.RemoveAll(dir); err != nil {
		report.Cleanup.ScratchRemoved = false
		report.Failures, report.Diagnostics = append(report.Failures, "cleanup: "+err.Error()), &dir
	}
	report.Qualified = len(report.Failures)+len(report.Mismatches) == 0
	report.ElapsedMS = time.Since(began).Milliseconds()
	return *report, nil
}

// phase does one phase and records how it went.
func (s *scratch) phase(ctx context.Context, name string, do func(context.Context) error) bool {
	began := time.Now()
	err := do(ctx)
	p := qualifiedPhase{Phase: name, OK: err == nil, ElapsedMS: time.Since(began).Milliseconds()}
	if err != nil {
		p.Detail = errorText(err)
		s.report.Failures = append(s.report.Failures, name+": "+err.Error())
	}
	s.report.Phases = append(s.report.Phases, p)
	return err == nil
}

// cleanups are what ends with a runner that is killed, the least first.
var cleanups = map[runner.AbruptCleanup]int{
	runner.AbruptNone: 0, runner.AbruptDirectChildOnly: 1, runner.AbruptWholeTree: 2,
}

// require compares what was seen with what the caller requires. More of a
// cleanup than is required will do.
func (s *scratch) require() {
	r, w := &s.report, s.wanted
	if c := r.Containment; c != nil {
		if w.mechanism != "" && c.Mechanism != w.mechanism {
			r.Mismatches = append(r.Mismatches, fmt.Sprintf("mechanism %s is required, and it is %s", w.mechanism, c.Mechanism))
		}
		if w.abrupt != "" && cleanups[c.AbruptCleanup] < cleanups[w.abrupt] {
			r.Mismatches = append(r.Mismatches, fmt.Sprintf("abrupt cleanup %s is required, and it is %s", w.abrupt, c.AbruptCleanup))
		}
	}
	if w.mustControl && r.Controller != nil && !r.Controller.Available {
		r.Mismatches = append(r.Mismatches, "a resource controller is required, and is not available: "+orDash(r.Controller.Detail))
	}
}

// prepare makes sure of the registry.
func (s *scratch) prepare(context.Context) error {
	reg := s.remote.Registry
	protection := "posix_0700"
	if runtime.GOOS == "windows" {
		protection = "windows_owner_only_dacl"
	}
	s.report.Registry = &qualifiedRegistry{Dir: reg.Dir(), Protection: protection}
	if err := reg.Prepare(); err != nil {
		return err
	}
	s.report.Registry.OwnerOnly = true
	return nil
}

// inspect asks the run for its members.
func (s *scratch) inspect(ctx context.Context) error {
	transport := "unix_socket"
	if runtime.GOOS == "windows" {
		transport = "windows_named_pipe"
	}
	s.report.Control = &qualifiedControl{Endpoint: s.entry.Endpoint, Transport: transport}
	snap, err := s.remote.Inspect(ctx, s.id)
	if err != nil {
		return err
	}
	s.report.Control.Members = len(snap.Members)
	if len(snap.Members) == 0 {
		return errors.New("the run lists no member")
	}
	return nil
}

func (s *scratch) cancel(ctx context.Context) error {
	_, err := s.remote.End(ctx, s.id, false)
	s.report.Control.Cancelled = err == nil
	return err
}

// wait waits for the end and compares what the runner and the registry say.
func (s *scratch) wait(ctx context.Context) error {
	over, err := s.remote.Wait(ctx, s.id)
	if err != nil {
		return err
	}
	code, err := s.exited(ctx)
	if err != nil {
		return err
	}
	s.report.Control.ExitCode = &code
	if over.Outcome != nil {
		s.report.Control.Source = &over.Outcome.Source
	}
	switch {
	case over.Outcome == nil:
		return errors.New("nothing tells how the run ended")
	case code != runner.ExitControlCancelled || over.Outcome.Source != string(runner.SourceControlCancel):
		return fmt.Errorf("the run ended with status %d and source %s", code, over.Outcome.Source)
	}
	return nil
}

// gone reports whether the run's record is off the list.
func (s *scratch) gone() bool {
	_, err := s.remote.Registry.Find(s.id)
	return errors.Is(err, registry.ErrNotFound)
}
