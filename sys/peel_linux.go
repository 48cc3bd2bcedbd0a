package sys

import (
	"os"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

const (
	// peelRounds is after how many rounds the peel stops what it cannot end.
	peelRounds = 4
	// peelPause is the distance of the looks whether a round has met all.
	peelPause = 200 * time.Microsecond
	// peelWait bounds the wait for what was killed, which needs the processor to
	// end, at first and at last.
	peelWait, peelWaitMax = 2 * time.Millisecond, 200 * time.Millisecond
)

// peel ends the tree and does not return: the other thread ends the process
// with the last child. Each round kills the children, whose own then fall to
// us. A child's number is held by not reaping it, so nobody else is met.
func (s *shim) peel() {
	s.release()
	linux.Hurry()
	for round, wait := 0, peelWait; ; round++ {
		target := s.reaped.Load()
		if round < peelRounds {
			target += s.killChildren()
		} else {
			target += freeze()
			wait = min(2*wait, peelWaitMax)
		}
		// The kernel tells the other thread alone of an end.
		for end := time.Now().Add(wait); s.reaped.Load() < target && time.Now().Before(end); {
			linux.Pause(peelPause)
		}
	}
}

// killChildren gives the number of children. Each is killed with its group, if
// it leads one: the kernel signals that in one step, which no fork escapes.
func (s *shim) killChildren() int64 {
	for !s.mu.TryLock() {
		linux.Pause(peelPause / 4) // the other thread reaps, which is quick
	}
	defer s.mu.Unlock()
	kids, err := linux.Children(os.Getpid())
	if err != nil && s.held {
		kids = []int{s.leader} // no descriptor is left: the next round may have one
	}
	for _, pid := range kids {
		_ = linux.KillGroup(pid, syscall.SIGKILL) // ESRCH: it leads none
		_ = linux.Kill(pid, syscall.SIGKILL)
	}
	return int64(len(kids))
}

// freezeLimit bounds the time in which all that runs is stopped. It is long: a
// shim that may not hurry gets as little of the processor as each of its tree.
const freezeLimit = 10 * time.Second

// freeze stops everything below us as soon as it is met, until a look finds
// nobody new, and then kills it all, the children before their parents: what
// forks faster than it is killed cannot fork while it is stopped, and counts
// against its limit. It gives the number of those that were met last.
func freeze() int64 {
	var last []linux.Stat
	stopped := map[int]uint64{} // by number and start
	for end, fresh := time.Now().Add(freezeLimit), true; fresh && time.Now().Before(end); {
		fresh, last = false, last[:0]
		_ = linux.EachDescendant(os.Getpid(), func(st linux.Stat) { // an error: the next round looks again
			last = append(last, st)
			if !st.Dead() && stopped[st.PID] != st.Start && linux.SignalProcess(st.PID, st.Start, syscall.SIGSTOP) == nil {
				stopped[st.PID] = st.Start
				fresh = true
			}
		})
	}
	for i := len(last) - 1; i >= 0; i-- {
		_ = linux.SignalProcess(last[i].PID, last[i].Start, syscall.SIGKILL)
	}
	return int64(len(last))
}
