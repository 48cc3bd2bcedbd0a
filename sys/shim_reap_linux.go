package sys

import (
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// reap collects what has ended, one by one and by number, and ends the process
// when the kernel says that there is no child any more.
func (s *shim) reap() {
	<-s.taken
	for {
		pid, err := linux.NextEnded()
		if err != nil {
			s.tellEmpty()
			syscall.Exit(0)
		}
		s.mu.Lock()
		var exit []int64
		if pid == s.leader {
			if !s.strict {
				exit = s.exitOf(pid)
			}
			s.held = false
		}
		_, _ = linux.ReapPID(pid) // it has ended and is ours
		s.mu.Unlock()
		s.reaped.Add(1)
		if exit != nil {
			s.tellExit(exit)
		}
	}
}

// tellExit tells how the leader ended, and, where that was the whole tree, that
// too, before the process ends: a message less is a wake of the supervisor less.
func (s *shim) tellExit(exit []int64) {
	if _, err := linux.EndedNow(); err == nil || s.inside {
		s.say(word{kind: wordExit, args: exit})
		return
	}
	s.say(word{kind: wordGone, args: append(exit, s.spentByAll())})
	syscall.Exit(0)
}

// spentByAll is the processor time of the children that were reaped.
func (s *shim) spentByAll() int64 { return int64(linux.ChildrenUsage().CPU - s.spent) }

// tellEmpty tells what the whole tree used, which in a namespace its init knows,
// and that nothing is left of it, which the shim alone can say.
func (s *shim) tellEmpty() {
	if !s.strict {
		s.say(word{kind: wordSpent, args: []int64{s.spentByAll()}})
	}
	if !s.inside {
		s.say(word{kind: wordEmpty})
	}
}

// exitOf is how the leader, still unreaped, ended, as wordExit tells it; nil: it
// has not, which would be a mistake here.
func (s *shim) exitOf(pid int) []int64 {
	e, err := linux.PeekPID(pid)
	if err != nil {
		return nil
	}
	return []int64{int64(e.Code), int64(e.Signal), int64(flag(e.Core)),
		int64(e.Usage.CPU), e.Usage.MaxRSS, s.floor, e.Usage.Read, e.Usage.Written}
}
