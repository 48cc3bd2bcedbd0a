package server

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// Task is a piece of work that clients see through the Tasks extension. Every
// job is one; Options.Tasks may know others. It is safe for concurrent use.
type Task interface {
	// State tells how the task stands.
	State(era wire.Era) TaskState
	// Update takes the client's answers to the task's requests for input, by
	// their keys. Keys that nobody asked for, or asked for no more, are ignored.
	Update(answers map[string]json.RawMessage)
	// Cancel asks the task to end and waits for it as far as it is sure to end.
	// A task that has ended is left as it is.
	Cancel(ctx context.Context) error
	// Watch has changed called after every change of State's Mark, until stop.
	// changed does not block.
	Watch(changed func()) (stop func())
}

// TaskState is how a task stands.
type TaskState struct {
	// Mark differs between two states if a client is to be told of the change.
	Mark string
	// Detail is the object of tasks/get, without resultType.
	Detail json.RawMessage
}

// TaskSource knows tasks that are no jobs.
type TaskSource interface {
	Task(id string) (Task, bool)
}

const (
	// taskTTL is how long a task can be read after the end of its job.
	taskTTL = 24 * time.Hour
	// pollInterval is how long a client that polls should wait between two calls.
	pollInterval = 500 * time.Millisecond
)

// The states of a task.
const (
	taskWorking   = "working"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// jobTask is a job as a task. Its id is the job's.
type jobTask struct {
	s *Server
	j *job.Job
}

func (t jobTask) State(era wire.Era) TaskState {
	snap := t.j.Snapshot()
	mark := string(snap.State)
	if snap.Ending != nil {
		mark += " ending"
	}
	return TaskState{Mark: mark, Detail: t.s.detail(&snap, era, t.s.quiet.get(snap.ID))}
}

// detail writes what tasks/get says of a job. quiet is since when its output
// is no longer pushed, zero if it is.
func (s *Server) detail(snap *job.Snapshot, era wire.Era, quiet time.Time) json.RawMessage {
	o := newObject(2 * recordSize)
	o.task(snap, era, quiet)
	switch taskStatus(snap, era) {
	case taskCompleted:
		o.taskResult(snap, quiet, s.payload(snap))
	case taskFailed:
		o.taskError(snap, quiet)
	}
	return o.close()
}

// Update does nothing: a job asks for no input.
func (t jobTask) Update(map[string]json.RawMessage) {}

// Cancel ends the job as kill does by default.
func (t jobTask) Cancel(ctx context.Context) error { return end(ctx, t.j, job.Kill{}) }

func (t jobTask) Watch(changed func()) (stop func()) { return t.s.hub.watch(t.j.ID(), changed) }

// taskStatus maps a job's state. In the modern era failed belongs to JSON-RPC
// errors: a job that failed is completed there, and its result says isError.
func taskStatus(s *job.Snapshot, era wire.Era) string {
	switch {
	case !s.Terminal():
		return taskWorking
	case s.State == job.Killed:
		return taskCancelled
	case s.State == job.Failed && era != wire.Modern:
		return taskFailed
	}
	return taskCompleted
}

// task writes the members that every form of a task has.
func (o *object) task(s *job.Snapshot, era wire.Era, quiet time.Time) {
	o.str("taskId", s.ID)
	o.str("status", taskStatus(s, era))
	o.str("statusMessage", statusMessage(s, quiet))
	o.time("createdAt", s.Created)
	o.time("lastUpdatedAt", lastUpdate(s))
	if s.Terminal() {
		o.num("ttlMs", (taskTTL + max(s.Ended.Sub(s.Created), 0)).Milliseconds())
	} else {
		o.key("ttlMs")
		o.b = append(o.b, "null"...)
	}
	o.num("pollIntervalMs", pollInterval.Milliseconds())
}

// lastUpdate is when the task's state last changed.
func lastUpdate(s *job.Snapshot) time.Time {
	last := s.Created
	for _, t := range []time.Time{s.Spawned, s.Ended} {
		if t.After(last) {
			last = t
		}
	}
	if l := s.LeaderExit; l != nil && s.Ended.IsZero() && l.At.After(last) {
		last = l.At
	}
	return last
}

// statusMessage tells a person how the job stands.
func statusMessage(s *job.Snapshot, quiet time.Time) string {
	var m string
	switch s.State {
	case job.Starting:
		if m = "starting"; s.QueuePosition > 0 {
			return "queued, place " + strconv.Itoa(s.QueuePosition)
		}
	case job.Running:
		m = "running"
		if s.Ending != nil {
			m = "ending"
		}
	case job.Exited:
		m = "exited with code " + strconv.Itoa(*s.ExitCode)
	case job.Killed:
		m = "killed, " + s.Signal
	case job.Failed:
		return "failed: " + s.Diagnostic.Message
	}
	m += ", " + grouped(s.Counts[job.Stdout].Lines+s.Counts[job.Stderr].Lines) + " lines"
	if !quiet.IsZero() {
		m += "; output came too fast to be pushed, read it with output or tail"
	}
	return m
}

// grouped writes a number as 1,204.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// taskResult writes the result of a completed task: what run would answer had
// it waited, and beside it the outcome in short.
func (o *object) taskResult(s *job.Snapshot, quiet time.Time, payload []byte) {
	o.open("result")
	o.str("resultType", "complete") // clients hold the inlined result against the result schema
	o.content(payload)
	o.flag("isError", s.State != job.Exited || *s.ExitCode != 0)
	o.outcome(s, quiet)
	o.end()
}

// content writes both halves of a success.
func (o *object) content(payload []byte) {
	o.key("content")
	o.b = append(o.b, `[{"type":"text","text":`...)
	o.b = wire.AppendString(o.b, string(payload))
	o.b = append(o.b, "}]"...)
	o.key("structuredContent")
	o.b = append(o.b, payload...)
}

// taskError writes the error of a failed task.
func (o *object) taskError(s *job.Snapshot, quiet time.Time) {
	o.open("error")
	o.num("code", wire.CodeInternal)
	o.str("message", s.Diagnostic.Message)
	o.outcome(s, quiet)
	o.end()
}

func (o *object) outcome(s *job.Snapshot, quiet time.Time) {
	if s.ExitCode != nil {
		o.num("exitCode", int64(*s.ExitCode))
	}
	o.open("output")
	for _, k := range []job.Kind{job.Stdout, job.Stderr} {
		o.count(k.String()+"_lines", s.Counts[k].Lines)
		o.count(k.String()+"_bytes", s.Counts[k].Bytes)
	}
	o.end()
	if !quiet.IsZero() {
		o.open("watchStopped")
		o.str("reason", "firehose")
		o.time("stoppedAt", quiet)
		o.end()
	}
}
