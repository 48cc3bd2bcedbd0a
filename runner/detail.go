package runner

import (
	"time"

	"github.com/belfry-dev/belfry/job"
)

// RunStartedDetail is RunStarted in version 2.
type RunStartedDetail struct {
	RunStarted
	Mechanism MechanismDetail `json:"mechanism_detail"`
}

// MechanismDetail is what exactly contains the tree, and how far each of its
// ends reaches: tree, tree_on_restart, group, leader, none.
type MechanismDetail struct {
	Mechanism       string `json:"mechanism"` // pid_namespace, cgroup_v2, subreaper, process_group, job_object
	Kill            string `json:"kill"`
	LeaderExit      string `json:"leader_exit"`
	SupervisorDeath string `json:"supervisor_death"`
	HelperDeath     string `json:"helper_death"`
}

// RunnerExitDetail is RunnerExit in version 2.
type RunnerExitDetail struct {
	RunnerExit
	Usage     *UsageDetail `json:"usage"` // null when nothing was started
	Survivors []Member     `json:"survivors"`
	Stages    Stages       `json:"stages"`
}

// UsageDetail is what the tree has used; null is what cannot be told here.
type UsageDetail struct {
	CPU        *int64 `json:"cpu_us"`
	PeakMemory *int64 `json:"peak_memory_bytes"`
	IORead     *int64 `json:"io_read_bytes"`
	IOWrite    *int64 `json:"io_write_bytes"`
	PeakTasks  *int64 `json:"peak_tasks"`
}

// Stages are when a run got how far; null is a stage that it did not reach.
type Stages struct {
	Began   *string `json:"began"`   // the first check
	Started *string `json:"started"` // the command runs
	Decided *string `json:"decided"` // what ends it is settled
	Ended   *string `json:"ended"`   // tree and output are over
}

// detail is what version 2 tells at the end.
type detail struct {
	usage     *UsageDetail
	survivors []Member
	stages    Stages
}

func now() *string {
	s := FormatTime(time.Now())
	return &s
}

// startedEvent is the event in the version that was asked for.
func (r *run) startedEvent(e RunStarted, g *job.Guarantee) Event {
	if r.o.Schema != SchemaDetailed {
		return e
	}
	return RunStartedDetail{e, MechanismDetail(*g)}
}

// exitEvent is the same for the last line.
func (r *run) exitEvent(e RunnerExit) Event {
	if r.o.Schema != SchemaDetailed {
		return e
	}
	d := r.detail
	if d.survivors == nil {
		d.survivors = []Member{}
	}
	return RunnerExitDetail{e, d.usage, d.survivors, d.stages}
}

// note keeps what the end of a run told.
func (d *detail) note(u *job.Usage, f job.Teardown) {
	cpu := int64(-1)
	if u.CPU >= 0 {
		cpu = u.CPU.Microseconds()
	}
	d.usage = &UsageDetail{known(cpu), known(u.PeakMemory), known(u.IORead), known(u.IOWrite), known(int64(u.PeakProcesses))}
	for _, m := range f.Remaining {
		d.survivors = append(d.survivors, memberOf(m))
	}
	d.stages.Ended = now()
}

// known is nil for what cannot be told.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}
