package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// SchemaVersion is the version of the event stream that is written unless
// another is asked for.
const SchemaVersion = 1

// SchemaDetailed is the version that tells more: see RunStartedDetail and
// RunnerExitDetail.
const SchemaDetailed = 2

// Name is the kind of an event, the value of its key "event".
type Name string

// The events, in the order in which a run writes them.
const (
	EventRunStarted      Name = "run_started"
	EventMembersSnapshot Name = "members_snapshot"
	EventRootExited      Name = "root_exited"
	EventLimitHit        Name = "limit_hit"
	EventLimitEvidence   Name = "limit_evidence"
	EventResourceSummary Name = "resource_summary"
	EventTimeout         Name = "timeout"
	EventOutputOverflow  Name = "output_overflow"
	EventCancelled       Name = "cancelled"
	EventKilled          Name = "killed"
	EventCleanupStarted  Name = "cleanup_started"
	EventCleanupFinished Name = "cleanup_finished"
	EventOutputCaptured  Name = "output_captured"
	EventSpawnFailed     Name = "spawn_failed"
	EventContainerFailed Name = "container_failed"
	EventRunnerExit      Name = "runner_exit"
)

// Event is the payload of one line. Its fields are the line's keys after
// schema_version, time and event, in their order; a nil pointer is null.
type Event interface{ Name() Name }

// RunStarted tells that the command runs.
type RunStarted struct {
	RunID         string            `json:"run_id"`
	Labels        map[string]string `json:"labels"`
	RootPID       *int              `json:"root_pid"`
	Mechanism     Mechanism         `json:"mechanism"`
	AbruptCleanup AbruptCleanup     `json:"abrupt_cleanup"`
	Cwd           *string           `json:"cwd"` // absolute
	Command       Command           `json:"command"`
}

// Mechanism names in the stream what contains the tree.
type Mechanism string

// The mechanisms of the stream. Rungs that this closed set has no word for
// (subreaper, pid namespace) are a process reaper.
const (
	MechanismJobObject     Mechanism = "job_object"
	MechanismCgroupV2      Mechanism = "cgroup_v2"
	MechanismProcessGroup  Mechanism = "process_group"
	MechanismProcessReaper Mechanism = "process_reaper"
	MechanismUnknown       Mechanism = "unknown"
)

// AbruptCleanup is what ends when the runner itself is killed.
type AbruptCleanup string

// The reaches of an abrupt cleanup.
const (
	AbruptWholeTree       AbruptCleanup = "whole_tree"
	AbruptDirectChildOnly AbruptCleanup = "direct_child_only"
	AbruptNone            AbruptCleanup = "none"
)

// Command is what runs: a fingerprint, and the arguments only if asked for.
type Command struct {
	Redacted bool     `json:"redacted"`
	Argv     []string `json:"argv"` // null when redacted
	SHA256   *string  `json:"argv_sha256"`
	Hint     *string  `json:"hint"`
}

// MembersSnapshot lists the live members of the tree.
type MembersSnapshot struct {
	Reason    string   `json:"reason"` // spawn or interval
	ReadError bool     `json:"read_error"`
	Members   []Member `json:"members"`
}

// Member is one process. StartTime is RFC 3339, UTC, to the millisecond.
type Member struct {
	PID       int     `json:"pid"`
	PPID      *int    `json:"ppid"`
	Name      *string `json:"name"`
	StartTime *string `json:"start_time"`
}

// RootExited is the command's own end.
type RootExited struct {
	Outcome string `json:"outcome"` // exited, signalled, timed_out, unknown
	Code    *int   `json:"code"`
	Signal  *int   `json:"signal"`
}

// LimitHit says that a limit could not be applied; nothing was started.
type LimitHit struct {
	Limit  string  `json:"limit"` // memory, processes, cpu, unknown
	Detail *string `json:"detail"`
}

// LimitEvidence says which limits the tree ran into.
type LimitEvidence struct {
	Memory    Trip `json:"memory"`
	Processes Trip `json:"processes"`
	CPU       Trip `json:"cpu"`
}

// Trip is what is known of one limit.
type Trip string

// The verdicts about a limit.
const (
	Tripped    Trip = "tripped"
	NotTripped Trip = "not_tripped"
	TripUnsure Trip = "unknown"
)

// ResourceSummary is what the tree has used; null is what cannot be told here.
type ResourceSummary struct {
	ReadError  bool   `json:"read_error"`
	PeakMemory *int64 `json:"peak_memory_bytes"`
	CPU        *int64 `json:"total_cpu_ms"`
	IORead     *int64 `json:"io_read_bytes"`
	IOWrite    *int64 `json:"io_write_bytes"`
	PeakTasks  *int64 `json:"peak_process_count"`
}

// Timeout says that a clock ended the run.
type Timeout struct {
	TimeoutMS int64  `json:"timeout_ms"`
	GraceMS   *int64 `json:"grace_ms"`
	Reason    string `json:"reason"` // overall or idle
}

// OutputOverflow says that a stream went over its ceiling.
type OutputOverflow struct {
	Stream   string `json:"stream"` // stdout or stderr
	MaxBytes int64  `json:"max_bytes"`
	GraceMS  *int64 `json:"grace_ms"`
}

// Cancelled says that somebody asked for an orderly end.
type Cancelled struct {
	Source  string `json:"source"` // ctrl_c, sigterm, sighup, ctrl_break, ctrl_close, ctrl_logoff, ctrl_shutdown, control_cancel
	GraceMS *int64 `json:"grace_ms"`
}

// Killed says that a control verb asked for the hard kill.
type Killed struct {
	Source string `json:"source"` // control_kill
}

// CleanupStarted counts who was there when the ending was decided.
type CleanupStarted struct {
	MembersBefore int  `json:"members_before"`
	ReadError     bool `json:"read_error"`
}

// CleanupFinished says what the teardown reached.
type CleanupFinished struct {
	Remaining     int       `json:"remaining"`
	RemainingPIDs []int     `json:"remaining_pids"`
	SoftTerminate *string   `json:"soft_terminate"` // signalled, unsupported, failed
	Shutdown      *Shutdown `json:"shutdown"`       // null without a soft stop
	ReadError     bool      `json:"read_error"`
	KillError     bool      `json:"kill_error"`
}

// Shutdown is how a graceful stop went.
type Shutdown struct {
	SoftStopScope      string `json:"soft_stop_scope"` // whole_tree, opt_in_members, none
	SoftSignal         string `json:"soft_signal"`     // sent, unsupported, failed
	MembersBefore      *int   `json:"members_before"`
	MembersAfter       *int   `json:"members_after"`
	DrainedWithinGrace *bool  `json:"drained_within_grace"`
	Escalated          *bool  `json:"escalated"`
	ElapsedMS          *int64 `json:"elapsed_ms"`
}

// OutputCaptured describes the transcripts.
type OutputCaptured struct {
	Stdout Captured `json:"stdout"`
	Stderr Captured `json:"stderr"`
}

// Captured is one transcript: Bytes is what the child wrote, the hash is over
// what the file holds.
type Captured struct {
	Path       string `json:"path"`
	Bytes      int64  `json:"bytes"`
	SHA256     string `json:"sha256"`
	Truncated  bool   `json:"truncated"`
	WriteError bool   `json:"write_error"`
}

// SpawnFailed says why the program could not be started.
type SpawnFailed struct {
	Code    int    `json:"code"` // ExitSpawn
	Message string `json:"message"`
}

// ContainerFailed says why there is no container.
type ContainerFailed struct {
	Phase   string `json:"phase"` // create, attach, foreground
	Code    int    `json:"code"`  // ExitBackend
	Message string `json:"message"`
}

// RunnerExit is the last line of every stream.
type RunnerExit struct {
	Code      int    `json:"code"`
	Source    Source `json:"source"`
	ChildCode *int   `json:"child_code"`
}

// The names of the payloads.
func (RunStarted) Name() Name      { return EventRunStarted }
func (MembersSnapshot) Name() Name { return EventMembersSnapshot }
func (RootExited) Name() Name      { return EventRootExited }
func (LimitHit) Name() Name        { return EventLimitHit }
func (LimitEvidence) Name() Name   { return EventLimitEvidence }
func (ResourceSummary) Name() Name { return EventResourceSummary }
func (Timeout) Name() Name         { return EventTimeout }
func (OutputOverflow) Name() Name  { return EventOutputOverflow }
func (Cancelled) Name() Name       { return EventCancelled }
func (Killed) Name() Name          { return EventKilled }
func (CleanupStarted) Name() Name  { return EventCleanupStarted }
func (CleanupFinished) Name() Name { return EventCleanupFinished }
func (OutputCaptured) Name() Name  { return EventOutputCaptured }
func (SpawnFailed) Name() Name     { return EventSpawnFailed }
func (ContainerFailed) Name() Name { return EventContainerFailed }
func (RunnerExit) Name() Name      { return EventRunnerExit }

// TimeForm is the form of every time in the stream and in the registry: UTC,
// to the millisecond.
const TimeForm = "2006-01-02T15:04:05.000Z"

// FormatTime writes a time in that form.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeForm) }

// Encode makes the line of an event in a version of the schema, with its newline.
func Encode(version int, at time.Time, e Event) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"schema_version":%d,"time":"%s","event":"%s",`, version, FormatTime(at), e.Name())
	head := b.Len()
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.Name(), err)
	}
	line := b.Bytes()
	return append(line[:head], line[head+1:]...), nil // without the payload's brace
}
