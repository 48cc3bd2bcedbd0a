package sys

import (
	"fmt"
	"math"
)

// Limits cap what a whole tree may use together. A zero field is no limit.
// They are in force before the leader runs, or nothing runs: AllowWeaker does
// not lift them.
type Limits struct {
	// MemoryBytes is the most memory, swap included, at most 2^53. A tree that
	// needs more is ended by the kernel.
	MemoryBytes int64
	// Tasks is the most tasks at once: threads on Linux, processes on Windows.
	// A further one cannot be started.
	Tasks int
	// CPUs is the processor time per time, 0.5 being half of one processor.
	// A tree that wants more waits.
	CPUs float64
}

// Any reports whether a limit is set.
func (l Limits) Any() bool { return l != Limits{} }

// LimitName names one limit.
type LimitName string

// The limits, in the order of their records.
const (
	LimitMemory LimitName = "memory_bytes"
	LimitTasks  LimitName = "tasks"
	LimitCPUs   LimitName = "cpus"
)

// LimitReason is the machine-readable cause why a limit is not enforced.
type LimitReason string

// The reasons. The first six are of Linux.
const (
	// LimitNoCgroup2: no cgroup v2 file system is mounted.
	LimitNoCgroup2 LimitReason = "no_cgroup2"
	// LimitCgroup1Only: the controller belongs to a cgroup v1 hierarchy.
	LimitCgroup1Only LimitReason = "cgroup1_only"
	// LimitControllerMissing: the kernel, or the group above ours, has not the controller.
	LimitControllerMissing LimitReason = "controller_missing"
	// LimitNotDelegated: the group is not ours to divide, or processes of
	// others keep it from being divided.
	LimitNotDelegated LimitReason = "not_delegated"
	// LimitCannotEnter: no process of ours can be moved or born in there.
	LimitCannotEnter LimitReason = "cannot_enter"
	// LimitWriteRejected: the system refused the value.
	LimitWriteRejected LimitReason = "write_rejected"
	// LimitReadbackMismatch: the system took the value and tells another.
	LimitReadbackMismatch LimitReason = "readback_mismatch"
	// LimitUnsupported: this system has nothing that could enforce it.
	LimitUnsupported LimitReason = "unsupported_platform"
)

// LimitRecord tells of one limit what was asked for and what came of it.
type LimitRecord struct {
	Limit     LimitName
	Requested float64 // bytes, tasks or processors
	Applied   float64 // as read back from the system; 0 when not enforced
	Enforced  bool
	Scope     Scope     // whom it holds together: always ScopeTree
	Mechanism Mechanism // what would have enforced it; may be empty
	Reason    LimitReason
	Detail    string // what failed on what, one sentence fragment
	Remedy    string // what would make it work; a command where there is one
}

// Evidence tells whether a limit has been met.
type Evidence string

// The answers.
const (
	Tripped         Evidence = "tripped"
	NotTripped      Evidence = "not_tripped"
	EvidenceUnknown Evidence = "unknown"
)

// LimitEvidence tells which limits a tree has met so far. A limit that was not
// asked for is NotTripped.
type LimitEvidence struct {
	Memory, Tasks, CPUs Evidence
	// MemoryKills is how many members the kernel ended for want of memory,
	// whosesoever limit was met; -1 when that cannot be known.
	MemoryKills int
}

// Of gives the answer for one limit.
func (e LimitEvidence) Of(name LimitName) Evidence {
	switch name {
	case LimitMemory:
		return e.Memory
	case LimitTasks:
		return e.Tasks
	case LimitCPUs:
		return e.CPUs
	}
	return EvidenceUnknown
}

// each calls f for every limit that is set.
func (l Limits) each(f func(name LimitName, value float64)) {
	if l.MemoryBytes != 0 {
		f(LimitMemory, float64(l.MemoryBytes))
	}
	if l.Tasks != 0 {
		f(LimitTasks, float64(l.Tasks))
	}
	if l.CPUs != 0 {
		f(LimitCPUs, l.CPUs)
	}
}

// validate refuses what no system can hold.
func (l Limits) validate() *StartError {
	switch {
	case l.MemoryBytes < 0 || l.MemoryBytes > 1<<53:
		return &StartError{Code: CodeSpawn, Detail: fmt.Sprintf("the limit of memory is not from 1 to 2^53 bytes: %d", l.MemoryBytes)}
	case l.Tasks < 0:
		return &StartError{Code: CodeSpawn, Detail: fmt.Sprintf("the limit of tasks is negative: %d", l.Tasks)}
	case l.CPUs < 0 || math.IsNaN(l.CPUs) || math.IsInf(l.CPUs, 0):
		return &StartError{Code: CodeSpawn, Detail: fmt.Sprintf("the limit of processors is no positive number: %v", l.CPUs)}
	}
	return nil
}

// refuseAll is the error of a start whose limits cannot be had, for one reason.
func (l Limits) refuseAll(m Mechanism, reason LimitReason, detail, remedy string) *StartError {
	var list []LimitRecord
	l.each(func(name LimitName, value float64) {
		list = append(list, LimitRecord{Limit: name, Requested: value, Scope: ScopeTree, Mechanism: m,
			Reason: reason, Detail: detail, Remedy: remedy})
	})
	return limitError(list)
}

// limitError is the error of a start of which at least one limit is not enforced.
func limitError(list []LimitRecord) *StartError {
	text := ""
	for _, r := range list {
		if r.Enforced {
			continue
		}
		one := fmt.Sprintf("%s: %s", r.Reason, r.Detail)
		if r.Remedy != "" {
			one += " (" + r.Remedy + ")"
		}
		switch {
		case text == "":
			text = fmt.Sprintf("the limit of %s cannot be enforced: %s", r.Limit, one)
		default:
			text += fmt.Sprintf("; nor that of %s", r.Limit)
		}
	}
	return &StartError{Code: CodeLimitUnavailable, Detail: text, Limits: list, Err: ErrUnsupported}
}
