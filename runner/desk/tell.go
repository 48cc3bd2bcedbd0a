package desk

import (
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/runner/control"
)

// timeForm is RFC 3339 in UTC with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

// maxSurvivors is the most process ids that are told.
const maxSurvivors = 100

// tell is a job's record as the endpoint tells it.
func tell(s *job.Snapshot) control.Job {
	j := control.Job{
		ID: s.ID, State: string(s.State), Label: s.Label, Command: s.Command, Client: s.Client,
		Queue: s.QueuePosition, Started: stamp(s.Created), Ended: stamp(s.Ended),
		ExitCode: s.ExitCode, Signal: s.Signal, EndedBy: string(s.EndedBy), Confirmed: s.KillConfirmed,
		Counts: &control.Counts{
			StdoutLines: s.Counts[ring.Stdout].Lines, StdoutBytes: s.Counts[ring.Stdout].Bytes,
			StderrLines: s.Counts[ring.Stderr].Lines, StderrBytes: s.Counts[ring.Stderr].Bytes,
		},
	}
	if s.Ending != nil {
		j.Ending = string(s.Ending.Step)
	}
	if s.Diagnostic != nil {
		j.Failure = s.Diagnostic.Message
	}
	for _, m := range s.Survivors[:min(len(s.Survivors), maxSurvivors)] {
		j.Survivors = append(j.Survivors, m.PID)
	}
	return j
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeForm)
}

// Waiting is the job of an order that waits for a place.
func Waiting(o *job.Order) control.Job {
	return tell(&job.Snapshot{ID: o.ID, State: job.Starting, Label: o.Label, Command: o.Command, Client: o.Client, Created: o.Created})
}

// Cancelled is that job once it was taken away while it waited.
func Cancelled(j control.Job) control.Job {
	proved := true
	j.State, j.EndedBy, j.Signal, j.Confirmed = string(job.Killed), string(job.ByQueueCancelled), job.QueueCancelled, &proved
	j.Ended = stamp(time.Now())
	return j
}
