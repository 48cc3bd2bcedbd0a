package sys

import (
	"sync"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// views are what the trees of a host share of the process table: all of it, or
// in short, which takes a fraction of the time.
type views struct {
	whole, short *tables

	mu    sync.Mutex
	asked time.Time // when the kernel was asked for forks
	forks uint64
}

func newViews(base uint64) *views {
	return &views{
		whole: newTables(func() ([]kin, error) { return processTable(base) }),
		short: newTables(func() ([]kin, error) { return shortTable(base) }),
	}
}

// processTable is everybody, with the marks of the host with that base.
func processTable(base uint64) ([]kin, error) {
	var all []kin
	err := linux.EachStat("/proc", func(st linux.Stat) {
		p := kinOf(st)
		if base != 0 && !p.dead {
			if mark, ok := linux.MarkOf(p.pid); ok && ofHost(mark, base) {
				// The number must mean the same process before and after.
				if now, err := linux.ReadStat("/proc", p.pid); err == nil && now.Start == p.start {
					p.mark = mark
				}
			}
		}
		all = append(all, p)
	})
	return all, err
}

// shortTable is everybody in short.
func shortTable(base uint64) ([]kin, error) {
	pids, err := linux.Processes()
	all := make([]kin, 0, len(pids))
	for _, pid := range pids {
		all = append(all, inShort(pid, base))
	}
	return all, err
}

// inShort is a process, dead or alive, by number, group, session and mark alone,
// which are 0 of one that is gone.
func inShort(pid int, base uint64) kin {
	p := kin{pid: pid}
	if p.pgrp, p.session = linux.GroupOf(pid); p.pgrp != 0 && base != 0 {
		if mark, ok := linux.MarkOf(pid); ok && ofHost(mark, base) {
			p.mark = mark
		}
	}
	return p
}

// moment is one in which numbers of processes were given.
type moment struct {
	at    time.Time
	forks uint64 // how many, until then or shortly before; 0: not known
}

// moment is this one. The kernel is asked at most once in a second, since that
// takes as long as a part of a start.
func (v *views) moment() moment {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.Sub(v.asked) > time.Second {
		v.asked = now
		v.forks, _ = linux.Forks() // false: not known
	}
	return moment{at: now, forks: v.forks}
}

// wentRound tells whether the numbers that were given since may have gone round.
func (m moment) wentRound() bool {
	// No machine gives out half a million in a second.
	if time.Since(m.at) < time.Duration(linux.MaxPID())*(2*time.Microsecond) {
		return false
	}
	now, ok := linux.Forks()
	return !ok || m.forks == 0 || now < m.forks || now-m.forks > uint64(linux.MaxPID()/2)
}
