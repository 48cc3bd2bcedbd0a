package control

import (
	"context"
	"errors"
)

// Desk is what tells of jobs: all of a server, or the one that a run is. Its
// methods are called by many goroutines at once.
type Desk interface {
	// About tells who answers. Version and RunID are filled in.
	About() About
	// Jobs lists the jobs, newest first.
	Jobs() []Job
	// Logs tells what a job said, and with q.Follow what it says until it has
	// ended or ctx is over. An error of tell ends it. It gives the job as it
	// was after the last line.
	Logs(ctx context.Context, q LogsQuery, tell func(Said) error) (Job, error)
	// Stop ends a job. accepted is called once it is certain that it will end,
	// or has ended; its error keeps nothing from ending. Stop returns when the
	// job has ended, or ctx: what was begun goes on then.
	Stop(ctx context.Context, o StopOrder, accepted func() error) (Job, error)
}

// ErrNoJob: the desk has no job of that id.
var ErrNoJob = errors.New("there is no such job")

// About is the first line of the answer to jobs.
type About struct {
	Version int    `json:"jobs_version"`
	RunID   string `json:"run_id"` // of the record
	Role    string `json:"role"`   // mcp, daemon, run
	Scope   string `json:"scope,omitempty"`
	PID     int    `json:"pid"`
	Release string `json:"version,omitempty"` // of the binary that answers
	Count   int    `json:"count"`             // lines that follow
}

// Job is a job, or a run as the one job of its runner. Its keys are those that
// agents see. Absent is what is not known, or not yet.
type Job struct {
	ID        string  `json:"job_id"`
	State     string  `json:"state"` // starting, running, exited, killed, failed
	Label     string  `json:"label,omitempty"`
	Command   string  `json:"command_summary,omitempty"` // the program's name, never an argument
	Client    string  `json:"client,omitempty"`
	Queue     int     `json:"queue_position,omitempty"`
	Started   string  `json:"started_at"`
	Ended     string  `json:"ended_at,omitempty"`
	ExitCode  *int    `json:"exit_code,omitempty"`
	Signal    string  `json:"signal,omitempty"`
	EndedBy   string  `json:"ended_by,omitempty"`
	Ending    string  `json:"ending,omitempty"` // the step of an end under way
	Failure   string  `json:"failure,omitempty"`
	Confirmed *bool   `json:"kill_confirmed,omitempty"`
	Survivors []int   `json:"survivors,omitempty"` // process ids
	Counts    *Counts `json:"counts,omitempty"`
}

// Counts are what a job said so far.
type Counts struct {
	StdoutLines uint64 `json:"stdout_lines"`
	StdoutBytes uint64 `json:"stdout_bytes"`
	StderrLines uint64 `json:"stderr_lines"`
	StderrBytes uint64 `json:"stderr_bytes"`
}

// Live reports whether the job waits, starts or runs.
func (j *Job) Live() bool { return j.State == "starting" || j.State == "running" }

// LogsQuery says what is wanted of a job's output.
type LogsQuery struct {
	ID     string `json:"job_id"`
	Follow bool   `json:"follow,omitempty"`
	Tail   *int   `json:"tail,omitempty"`   // the newest so many lines; nil: all that are kept
	Stream string `json:"stream,omitempty"` // this one alone: stdout, stderr; "": both
}

// Said is a line of a job's output, or with Dropped the place where lines are
// missing.
type Said struct {
	Stream  string `json:"stream"` // stdout, stderr
	Seq     uint64 `json:"seq,omitempty"`
	Time    string `json:"time,omitempty"`
	Text    string `json:"text"`
	Partial bool   `json:"partial,omitempty"` // no newline ended it
	Dropped uint64 `json:"dropped,omitempty"` // so many lines of the stream are no longer kept
}

// StopOrder says how to end a job: soft stop, grace, hard kill.
type StopOrder struct {
	ID      string `json:"job_id"`
	Now     bool   `json:"now,omitempty"`      // the hard kill at once
	GraceMS *int64 `json:"grace_ms,omitempty"` // nil: the server's own, or the run's
}

// last is the last line of the answer to logs and to stop.
type last struct {
	End Job `json:"end"`
}

const (
	jobsVersion = 1
	// maxJobs bounds how many jobs a list may have.
	maxJobs = 1 << 20
	// maxSaid is the most bytes of a line of logs: a line of output has at most
	// 1 MiB, and JSON takes up to 6 bytes for one.
	maxSaid = 8 << 20
)
