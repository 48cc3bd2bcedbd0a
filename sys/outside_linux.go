package sys

import (
	"slices"

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
func (t *cgroupTree) lookBefore() {
	t.inLeaf(func(in *leaf) {
		inside := in.Procs()
		slices.Sort(inside)
		search := search{tree: t, in: in, inside: inside, byNumber: t.numberHeld()}
		if last, ok := t.fewSince(); ok {
			for pid := t.id.PID; pid <= last; pid++ {
				search.check(pid, true)
			}
		} else {
			for _, pid := range inside {
				kids, _ := linux.Children(pid) // an error: it has ended
				for _, kid := range kids {
					search.check(kid, true)
				}
			}
		}
		t.add(search.found)
	})
}

// lookAfter looks for them by group, session and mark, once the container is
// empty.
func (t *cgroupTree) lookAfter() {
	t.inLeaf(func(in *leaf) {
		search := search{tree: t, in: in, byNumber: t.numberHeld()}
		if last, ok := t.fewSince(); ok {
			for pid := t.id.PID; pid <= last; pid++ {
				if search.hasSign(inShort(pid, t.host)) {
					search.check(pid, false)
				}
			}
		} else {
			all, _ := t.tables.short.read() // Best effort: without descriptors nobody can be found.
			for _, p := range all {
				if search.hasSign(p) {
					search.check(p.pid, false)
				}
			}
		}
		t.add(search.found)
	})
}

func (t *cgroupTree) add(strays []kin) {
	if len(strays) > 0 {
		t.know(strays)
		t.outside.Store(true)
	}
}

// manyNumbers is how many numbers are tried, one after another, before a list of
// all processes costs less.
const manyNumbers = 4096

// fewSince gives the last of the numbers that were given since the leader's. False:
// they are many, or have gone round.
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
	found    []kin
}

// hasSign tells whether a process seems to be the leader's by its group, session
// or mark.
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
