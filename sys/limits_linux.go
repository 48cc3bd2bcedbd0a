package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"

	"github.com/belfry-dev/belfry/linux"
)

// noLimit is why a limit cannot be enforced.
type noLimit struct {
	reason         LimitReason
	detail, remedy string
}

// controllerOf is the kernel's controller behind a limit.
var controllerOf = map[LimitName]string{LimitMemory: "memory", LimitTasks: "pids", LimitCPUs: "cpu"}

// controllers in the order of the limits.
var controllers = []string{"memory", "pids", "cpu"}

// recordsOf gives one record for each limit that is set; why tells what keeps
// it from being enforced, nil where apply has enforced it.
func recordsOf(l Limits, apply func(name LimitName, value float64) (applied float64, why *noLimit)) (list []LimitRecord, all bool) {
	all = true
	l.each(func(name LimitName, value float64) {
		r := LimitRecord{Limit: name, Requested: value, Scope: ScopeTree, Mechanism: CgroupV2}
		applied, why := apply(name, value)
		if why == nil {
			r.Enforced, r.Applied = true, applied
		} else {
			r.Reason, r.Detail, r.Remedy = why.reason, why.detail, why.remedy
			all = false
		}
		list = append(list, r)
	})
	return list, all
}

// limit sets the limits of a container that holds nobody yet, and reads every
// value back. Unless all are enforced the container must not be used.
func (r *cgroupRung) limit(leaf *linux.Cgroup, l Limits) (list []LimitRecord, all bool) {
	return recordsOf(l, func(name LimitName, value float64) (float64, *noLimit) {
		if why, lacks := r.lacks[controllerOf[name]]; lacks {
			return 0, &why
		}
		switch name {
		case LimitMemory:
			return limitMemory(leaf, int64(value))
		case LimitTasks:
			return limitTasks(leaf, int64(value))
		}
		return limitCPUs(leaf, value)
	})
}

// limitMemory caps memory and forbids swap, which would only make a tree that
// is over its cap slow. The kernel's kill takes the whole tree (memory.oom.group,
// 4.19): without that a child may die unnoticed and the job go on wrongly.
func limitMemory(leaf *linux.Cgroup, bytes int64) (float64, *noLimit) {
	if why := setAs(leaf, "memory.oom.group", "1"); why != nil {
		return 0, why
	}
	why := setAs(leaf, "memory.swap.max", "0")
	if _, err := leaf.Get("memory.swap.max"); errors.Is(err, fs.ErrNotExist) {
		if why = nil; linux.HasSwap() {
			why = &noLimit{LimitControllerMissing, leaf.Path() + " has no memory.swap.max, and this machine swaps",
				"swapoff -a, or boot with swapaccount=1"}
		}
	}
	if why != nil {
		return 0, why
	}
	const file = "memory.max"
	if err := leaf.Set(file, strconv.FormatInt(bytes, 10)); err != nil {
		return 0, rejected(leaf, file, err)
	}
	text, err := leaf.Get(file)
	applied, perr := strconv.ParseInt(text, 10, 64)
	page := int64(os.Getpagesize()) // the kernel rounds down to whole pages
	if err != nil || perr != nil || applied > bytes || bytes-applied >= page {
		return 0, mismatch(leaf, file, strconv.FormatInt(bytes, 10), text)
	}
	return float64(applied), nil
}

func limitTasks(leaf *linux.Cgroup, n int64) (float64, *noLimit) {
	if why := setAs(leaf, "pids.max", strconv.FormatInt(n, 10)); why != nil {
		return 0, why
	}
	return float64(n), nil
}

// The kernel's bounds of cpu.max, microseconds: a quota of at least 1 ms, a
// period of at most 1 s.
const (
	cpuPeriod    = 100_000
	cpuPeriodMax = 1_000_000
	cpuQuotaMin  = 1000
)

func limitCPUs(leaf *linux.Cgroup, cpus float64) (float64, *noLimit) {
	period := float64(cpuPeriod)
	if cpus*period < cpuQuotaMin {
		period = cpuPeriodMax
	}
	quota := math.Round(cpus * period)
	const file = "cpu.max"
	if quota < cpuQuotaMin {
		return 0, &noLimit{LimitWriteRejected, fmt.Sprintf("%v of a processor is less than the kernel can give (%v)",
			cpus, float64(cpuQuotaMin)/cpuPeriodMax), "ask for more"}
	}
	want := strconv.FormatFloat(quota, 'f', 0, 64) + " " + strconv.FormatFloat(period, 'f', 0, 64)
	if err := leaf.Set(file, want); err != nil {
		return 0, rejected(leaf, file, err)
	}
	text, err := leaf.Get(file)
	applied, ok := linux.ParseCPUMax(text)
	if err != nil || !ok || math.Abs(applied-quota/period) > 1/period {
		return 0, mismatch(leaf, file, want, text)
	}
	return applied, nil
}

// setAs writes a value that must be read back as it was written.
func setAs(leaf *linux.Cgroup, file, value string) *noLimit {
	if err := leaf.Set(file, value); err != nil {
		return rejected(leaf, file, err)
	}
	if text, err := leaf.Get(file); err != nil || text != value {
		return mismatch(leaf, file, value, text)
	}
	return nil
}

func rejected(leaf *linux.Cgroup, file string, err error) *noLimit {
	return &noLimit{LimitWriteRejected, fmt.Sprintf("%s/%s: %s", leaf.Path(), file, errnoText(err)),
		"ask for a value that this kernel takes"}
}

func mismatch(leaf *linux.Cgroup, file, want, got string) *noLimit {
	return &noLimit{LimitReadbackMismatch, fmt.Sprintf("%s/%s: %q was written and %q is read", leaf.Path(), file, want, got),
		"ask for a value that this kernel takes"}
}

// evidenceOf reads which limits a container's members have met.
func evidenceOf(leaf *linux.Cgroup, limits []LimitRecord) LimitEvidence {
	e := noEvidence
	answer := func(file string, keys ...string) Evidence {
		out := EvidenceUnknown
		for _, key := range keys {
			n, known := leaf.Count(file, key)
			switch {
			case known && n > 0:
				return Tripped
			case known:
				out = NotTripped
			}
		}
		return out
	}
	if len(limits) == 0 {
		return e // its container has no controllers
	}
	for _, r := range limits {
		switch r.Limit {
		case LimitMemory:
			e.Memory = answer("memory.events", "oom", "oom_kill")
		case LimitTasks:
			e.Tasks = answer("pids.events", "max")
		case LimitCPUs:
			e.CPUs = answer("cpu.stat", "nr_throttled")
		}
	}
	if n, known := leaf.Count("memory.events", "oom_kill"); known {
		e.MemoryKills = int(n)
	}
	return e
}
