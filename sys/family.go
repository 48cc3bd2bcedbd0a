//go:build linux || darwin

package sys

// familyOf picks out of a snapshot the live processes that belong to a leader:
// those of its group or session, when byNumber says that the leader's number
// still means the leader; those known from before by number and start; and
// the descendants of any of these. The leader itself is among them while it
// lives; self and process 1 never are.
func familyOf(all []kin, leader ID, byNumber bool, known map[int]uint64, self int) []kin {
	children := make(map[int][]int)
	var queue []int
	in := make([]bool, len(all))
	add := func(i int) {
		if p := all[i].pid; !in[i] && p != self && p > 1 {
			in[i] = true
			queue = append(queue, i)
		}
	}
	for i, p := range all {
		children[p.ppid] = append(children[p.ppid], i)
	}
	for i, p := range all {
		start, was := known[p.pid]
		switch {
		case byNumber && (p.pgrp == leader.PID || p.session == leader.PID):
			add(i)
		case p.pid == leader.PID && p.start == leader.Birth:
			add(i)
		case was && start == p.start:
			add(i)
		}
	}
	var out []kin
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, c := range children[all[i].pid] {
			add(c)
		}
		if !all[i].dead {
			out = append(out, all[i])
		}
	}
	return out
}
