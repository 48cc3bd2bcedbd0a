package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/console"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// failure is an error with the status and the hint that go with it. Without
// err it is a verdict that is told by the status alone, as a program's own is.
type failure struct {
	status int
	kind   string // the envelope's word; "" is the one that goes with the status
	runID  string
	err    error
	hint   string
	told   bool // the verdict is on stdout already: only the envelope repeats it
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("status %d", f.status)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// envelope is how a failure is told under --error-format json.
type envelope struct {
	Version   int     `json:"error_version"`
	Code      int     `json:"code"`
	Kind      string  `json:"kind"`
	Operation string  `json:"operation"`
	RunID     *string `json:"run_id"`
	Retryable bool    `json:"retryable"`
	Message   string  `json:"message"`
}

// kinds are the envelope's words by status. What is said of a run that could not
// be reached has words of its own: see controlKinds.
var kinds = map[int]string{
	exitUsage:                    "usage",
	runner.ExitSpawn:             "spawn_error",
	runner.ExitBackend:           "container_error",
	runner.ExitControl:           "control_unreachable",
	runner.ExitInternal:          "internal",
	runner.ExitTimeout:           "timeout",
	runner.ExitCancelled:         "cancelled",
	runner.ExitControlCancelled:  "control_cancel",
	runner.ExitControlKilled:     "control_kill",
	runner.ExitProbeIncompatible: "probe_incompatible",
	runner.ExitSetup:             "setup",
	runner.ExitWaitTimeout:       kindWaitTimeout,
	runner.ExitOverflow:          "output_overflow",
	runner.ExitEventsInvalid:     "events_invalid",
	runner.ExitNotAMember:        "not_a_member",
	runner.ExitHostUnqualified:   "host_unqualified",
}

const (
	kindWaitTimeout = "wait_timeout"
	kindUnprobed    = "unprobed"
	kindDeadline    = "ipc_deadline"
	kindRegistry    = "registry"
)

// controlKinds are the envelope's words by what kept a run from being reached.
var controlKinds = []struct {
	err  error
	kind string
}{
	{registry.ErrNotFound, "not_found"},
	{runner.ErrNoStream, "not_found"},
	{registry.ErrStale, "stale"},
	{console.ErrDead, "stale"},
	{registry.ErrUnprobed, kindUnprobed},
	{registry.ErrAmbiguous, "ambiguous_run_id"},
	{control.ErrDeadline, kindDeadline},
	{control.ErrIncompatible, "incompatible_contract"},
	{control.ErrUnreachable, "control_unreachable"},
	{control.ErrRefused, "control_unreachable"},
}

// unreached is the failure of a verb that could not reach a run: of one id, or
// with "" of the registry.
func unreached(runID string, err error) error {
	for _, c := range controlKinds {
		if errors.Is(err, c.err) {
			return &failure{status: runner.ExitControl, kind: c.kind, runID: runID, err: fmt.Errorf("run %s: %w", shown(runID), err)}
		}
	}
	status := runner.ExitControl
	if runID == "" {
		status = runner.ExitSetup
	}
	return &failure{status: status, kind: kindRegistry, runID: runID, err: err}
}

// band are the verbs whose statuses of their own are within 100 to 119.
var band = []string{"run", "inspect", "cancel", "kill", "attest", "wait", "events", "list", "prune", "probe", "doctor", "jobs", "logs", "stop"}

// failedStatus is the status of an error that says no more.
func failedStatus(cmd *cobra.Command) int {
	if slices.Contains(band, operation(cmd)) {
		return runner.ExitSetup
	}
	return exitNo
}

// operation is the verb of a command, "" for none.
func operation(cmd *cobra.Command) string {
	words := strings.Fields(cmd.CommandPath())
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

// tell writes a failure to stderr, for a person or as one line of JSON.
func (a *App) tell(cmd *cobra.Command, f *failure) {
	if a.errorFormat(cmd) == "json" {
		if f.err != nil {
			a.tellJSON(cmd, f)
		}
		return
	}
	if f.told {
		return
	}
	if f.err != nil {
		a.logf("%s", strings.TrimSpace(f.err.Error()))
	}
	hint := f.hint
	if hint == "" && f.status == exitUsage {
		hint = cmd.CommandPath() + " --help tells what it takes"
	}
	if hint != "" {
		a.words.say(a.Stderr, "hint: "+hint+"\n")
	}
}

func (a *App) tellJSON(cmd *cobra.Command, f *failure) {
	e := envelope{Version: 1, Code: f.status, Kind: f.kind, Operation: operation(cmd), Message: strings.TrimSpace(f.err.Error())}
	if e.Kind == "" {
		e.Kind = kinds[f.status]
	}
	if e.Kind == "" {
		e.Kind = "unknown"
	}
	if f.runID != "" {
		e.RunID = &f.runID
	}
	e.Retryable = e.Kind == kindUnprobed || e.Kind == kindDeadline || e.Kind == kindWaitTimeout
	var line strings.Builder
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(e) // it holds nothing that cannot be encoded
	a.words.say(a.Stderr, line.String())
}

const errorFormatFlag = "error-format"

func addErrorFormat(root *cobra.Command) {
	root.PersistentFlags().Var(typed{&once{}, "human|json"}, errorFormatFlag, "how errors are told on stderr (human)")
}

// errorFormat is the one that was asked for, also on a command line that could
// not be parsed as far as there.
func (a *App) errorFormat(cmd *cobra.Command) string {
	if f := cmd.Root().PersistentFlags().Lookup(errorFormatFlag); f.Changed {
		return f.Value.String()
	}
	for i, arg := range a.Args {
		if arg == "--" {
			break
		}
		if arg == "--"+errorFormatFlag && i+1 < len(a.Args) {
			return a.Args[i+1]
		}
		if v, ok := strings.CutPrefix(arg, "--"+errorFormatFlag+"="); ok {
			return v
		}
	}
	return ""
}

// checkErrorFormat refuses a format that is not known.
func checkErrorFormat(cmd *cobra.Command) error {
	switch v := cmd.Root().PersistentFlags().Lookup(errorFormatFlag).Value.String(); v {
	case "", "human", "json":
		return nil
	}
	return usage("belfry --error-format human, or json", "--error-format: it is human or json")
}

// flagError tells why a flag was refused without repeating its value, which may
// be a secret.
func flagError(_ *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s: %w", bad.GetFlag().Name, bad.Unwrap())
	}
	return err
}
