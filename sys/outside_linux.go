package sys

import (
	"slices"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// noteOutside asks where the leader is, which a zombie tells too. Without an
// answer (it was reaped, no descriptor is left) nothing is known.
func (t *cgroupTree) noteOutside() {
	inside, known := true, false
	t.inLeaf(func(in *leaf) {
		_ = t.pidfd.Use(func(fd int) { inside, known = in.Has(fd, t.id.PID) })
	})
	if inside || !known {
		return
	}
	// The number still means the leader, so the answer was about it.
	if st, err := linux.ReadStat("/proc", t.id.PID); err == nil && st.Start == t.id.Birth {
		t.outside.Store(true)
	}
}

// lookBefore looks, before a signal ends what tells of them, for members that left
// the container: by their parents inside, and by the leader's group, session and
// mark. Whoever is found is known from then on, with all that descends from it.
//
//go:noinline
func (t *cgroupTree) lookBefore() {
	t.inLeaf(func(in *leaf) {
		inside := in.Procs()
		slices.Sort(inside)
		s := search{tree: t, in: in, inside: inside, byNumber: t.numberHeld()}
		if last, ok := t.fewSince(); ok {
			s.numbers(t.id.PID, last, true)
		} else {
			for _, pid := range inside {
				kids, _ := linux.Children(pid) // an error: it has ended
				for _, kid := range kids {
					s.check(kid, true)
				}
			}
		}
		t.add(s.found)
	})
}

// lookAfter looks for them by group, session and mark, once the container is
// empty. It may end whom it finds at once: who starts another and ends, again and
// again, is gone by the time of a second look. False: there was nobody.
//
//go:noinline
func (t *cgroupTree) lookAfter(kill bool) bool {
	last, few := t.fewSince()
	if few && last == t.id.PID && t.ended() {
		return false // nobody was born since
	}
	found := false
	t.inLeaf(func(in *leaf) {
		s := search{tree: t, in: in, byNumber: t.numberHeld(), kill: kill}
		if few {
			s.numbers(t.id.PID, last, false)
		} else {
			all, _ := t.tables.short.read() // Best effort: without descriptors nobody can be found.
			for _, p := range all {
				if s.hasSign(p) {
					s.check(p.pid, false)
				}
			}
		}
		// Who lives when no number is given out meanwhile was met.
		for range catchUps {
			now, ok := linux.LastPID()
			if !ok || now <= last {
				break
			}
			s.numbers(last+1, now, false)
			last = now
		}
		t.add(s.found)
		found = len(s.found) > 0
	})
	return found
}

// catchUps bounds how often a look goes on with the numbers that were given out
// during it.
const catchUps = 1000

func (t *cgroupTree) add(strays []kin) {
	if len(strays) > 0 {
		t.know(strays)
		t.outside.Store(true)
	}
}

// manyNumbers is how many numbers are tried, one after another, before a list of
// all processes costs less.
const manyNumbers = 4096

// fewSince gives the number that was given last. True: those since the leader's are
// few and have not gone round.
func (t *cgroupTree) fewSince() (last int, ok bool) {
	last, ok = linux.LastPID()
	ok = ok && t.id.PID <= last && last <= t.id.PID+manyNumbers && !t.began.wentRound()
	return last, ok
}

// search finds members of a tree that are not in its container.
type search struct {
	tree     *cgroupTree
	in       *leaf
	inside   []int // who is in the container, in order
	byNumber bool  // the leader's number means its group still
	kill     bool
	found    []kin
}

// numbers looks at all that have one of these numbers.
func (s *search) numbers(first, last int, parents bool) {
	for pid := first; pid <= last; pid++ {
		if parents || s.hasSign(inShort(pid, s.tree.host)) {
			s.check(pid, parents)
		}
	}
}

// hasSign tells whether a process seems to be the leader's by its group, session
// or mark.
//
//go:noinline
func (s *search) hasSign(p kin) bool {
	t := s.tree
	return t.mark != 0 && p.mark == t.mark || s.byNumber && (p.pgrp == t.id.PID || p.session == t.id.PID)
}

// check adds a process that lives elsewhere and certainly belongs here, by a sign
// of its own or, if parents count, because its parent is inside.
func (s *search) check(pid int, parents bool) {
	if _, inside := slices.BinarySearch(s.inside, pid); inside {
		return
	}
	fd, err := linux.PidfdOpen(pid)
	if err != nil {
		return // gone, or a thread
	}
	defer linux.CloseFD(fd)
	if linux.PidfdExited(fd) {
		return
	}
	st, err := linux.ReadStat("/proc", pid)
	if err != nil {
		return
	}
	p := kinOf(st)
	p.mark, _ = linux.MarkOf(pid)
	if !s.hasSign(p) && !(parents && s.isParent(p)) {
		return
	}
	// While it lives the number was its own.
	if there, sure := s.in.Cgroup.Has(pid); sure && !there && !linux.PidfdExited(fd) {
		s.found = append(s.found, p)
		if s.kill {
			_ = linux.PidfdSignal(fd, syscall.SIGKILL) // an error: another user's, and told of as left
		}
	}
}

// isParent tells whether the parent of a live process is in the container. Who
// has lost its parent has another, so one that is the same in the end was there
// all the time.
func (s *search) isParent(p kin) bool {
	if _, inside := slices.BinarySearch(s.inside, p.ppid); !inside {
		return false
	}
	there, sure := s.in.Cgroup.Has(p.ppid)
	now, err := linux.ReadStat("/proc", p.pid)
	return there && sure && err == nil && now.PPID == p.ppid
}
