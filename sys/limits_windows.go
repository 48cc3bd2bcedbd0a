package sys

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/belfry-dev/belfry/windows"
)

// wineRemedy is what helps where limits are taken and not kept.
const wineRemedy = "run it on Windows itself: Wine holds no job to its limits"

// setLimits sets the limits of a job that holds nobody yet, reads each back,
// and gives their records: with an error when one is not in force.
func setLimits(job *windows.Job, l Limits) ([]LimitRecord, error) {
	if !l.Any() {
		return nil, nil
	}
	wroteBoth := job.SetLimits(uint64(l.MemoryBytes), uint32(min(l.Tasks, 1<<31)))
	memory, processes, readBoth := job.Limits()
	list := []LimitRecord{}
	refused := false
	l.each(func(name LimitName, value float64) {
		r := LimitRecord{Limit: name, Requested: value, Scope: ScopeTree, Mechanism: JobObject}
		wrote, read := wroteBoth, readBoth
		var have, within float64
		switch name {
		case LimitMemory:
			have, within = float64(memory), float64(os.Getpagesize())
		case LimitTasks:
			have = float64(processes)
		case LimitCPUs:
			all := float64(windows.Processors())
			rate := rateOf(value, all)
			wrote = job.SetCPURate(rate)
			var back uint32
			back, read = job.CPURate()
			// A rate is whole, and one processor of many a small part of it.
			have, within = float64(back)/wholeRate*all, all/wholeRate
			value = min(value, all)
		}
		switch {
		case wrote != nil:
			r.Reason, r.Detail = LimitWriteRejected, wrote.Error()
		case read != nil:
			r.Reason, r.Detail = LimitReadbackMismatch, read.Error()
		case have == 0 || have < value-within || have > value+within:
			r.Reason, r.Detail = LimitReadbackMismatch, fmt.Sprintf("the Job Object was set to %v and says %v", value, have)
		default:
			r.Enforced, r.Applied = true, have
		}
		if !r.Enforced {
			refused = true
			r.Remedy = "run it without this limit"
			if windows.Wine() != "" {
				r.Remedy = wineRemedy
			}
		}
		list = append(list, r)
	})
	if refused {
		return nil, limitError(list)
	}
	return list, nil
}

// wholeRate is the rate of all processors together.
const wholeRate = 10_000

// rateOf is the rate that stands for so many of all processors, rounded down
// so that no tree gets more than was allowed, but never to nothing.
func rateOf(cpus, all float64) uint32 {
	return uint32(max(1, min(wholeRate, cpus/all*wholeRate)))
}

// metLimits collects what the job's port has told of limits that were met. By
// contract it may lose a message, so silence is not evidence.
type metLimits struct{ memory, tasks atomic.Bool }

func (m *metLimits) hear(message windows.Message) {
	switch message {
	case windows.MessageMemoryLimit:
		m.memory.Store(true)
	case windows.MessageProcessLimit:
		m.tasks.Store(true)
	}
}

// evidence is about the limits of which there are records.
func (m *metLimits) evidence(limits []LimitRecord) LimitEvidence {
	e := noEvidence
	for _, r := range limits {
		switch r.Limit {
		case LimitMemory:
			e.Memory = heard(&m.memory)
		case LimitTasks:
			e.Tasks = heard(&m.tasks)
		case LimitCPUs:
			e.CPUs = EvidenceUnknown // nobody counts how often it waited
		}
	}
	return e
}

func heard(met *atomic.Bool) Evidence {
	if met.Load() {
		return Tripped
	}
	return EvidenceUnknown
}

// probeLimits tries each limit on a job of its own that holds nobody.
func probeLimits() []LimitRecord {
	var list []LimitRecord
	some := someLimits
	for _, l := range []Limits{{MemoryBytes: some.MemoryBytes}, {Tasks: some.Tasks}, {CPUs: some.CPUs}} {
		job, err := windows.NewJob()
		if err != nil {
			return nil // the rung's own trial says why
		}
		got, err := setLimits(job, l)
		if se, ok := errors.AsType[*StartError](err); ok {
			got = se.Limits
		}
		list = append(list, got...)
		// Best effort: it holds nobody.
		_ = job.Close()
	}
	return list
}
