package sys

import (
	"os"
	"slices"
	"syscall"

	"github.com/belfry-dev/belfry/darwin"
)

// kin is one process as a scan of the process table shows it.
type kin struct {
	pid, ppid, pgrp, session int
	start                    uint64
	dead                     bool
	name                     string
}

// maxUnique bounds what one tree remembers of processes that have been in it.
const maxUnique = 1 << 16

// scan lists the live members and remembers them for the next scan, which may
// no longer see why they belong here.
func (t *groupTree) scan() ([]kin, error) {
	list, err := darwin.ReadAll()
	if err != nil {
		return nil, err
	}
	ended := t.ended()
	all := make([]kin, 0, len(list))
	for _, k := range list {
		// The leader's end is told a moment before it becomes a zombie.
		dead := k.State == darwin.Zombie || ended && k.PID == t.id.PID && k.Start == t.id.Birth
		all = append(all, kin{pid: k.PID, ppid: k.PPID, pgrp: k.PGID, start: k.Start, dead: dead, name: k.Command})
	}
	t.scanMu.Lock()
	defer t.scanMu.Unlock()
	known := make(map[int]uint64, len(t.known))
	for pid, start := range t.known {
		known[pid] = start
	}
	asked := make(map[int]bool)
	for {
		members := familyOf(all, t.id, t.numberHeld(), known, os.Getpid())
		t.remember(members, asked)
		if !t.adopt(all, known, asked) {
			t.known = make(map[int]uint64, len(members))
			for _, m := range members {
				t.known[m.pid] = m.start
			}
			return members, nil
		}
	}
}

// remember notes the unique ids of members.
func (t *groupTree) remember(members []kin, asked map[int]bool) {
	for _, m := range members {
		if asked[m.pid] || t.known[m.pid] == m.start || len(t.unique) >= maxUnique {
			continue
		}
		asked[m.pid] = true
		if u, err := darwin.ReadUnique(m.pid); err == nil {
			t.unique[u.ID] = struct{}{}
		}
	}
}

// adopt finds processes that launchd has taken over and that were forked by a
// process which has been a member: the kernel keeps the forking process's unique
// id. Best effort: the ids are not available on every release.
func (t *groupTree) adopt(all []kin, known map[int]uint64, asked map[int]bool) bool {
	found := false
	for _, p := range all {
		if p.ppid != 1 || p.dead || p.start < t.id.Birth || asked[p.pid] || known[p.pid] == p.start {
			continue
		}
		asked[p.pid] = true
		u, err := darwin.ReadUnique(p.pid)
		if err != nil {
			continue
		}
		if _, ours := t.unique[u.Parent]; ours {
			known[p.pid], found = p.start, true
			t.unique[u.ID] = struct{}{}
		}
	}
	return found
}

// numberHeld tells whether the leader's number can name nobody else.
func (t *groupTree) numberHeld() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.reaped
}

// Signal sends to the group first and then, one by one, to those outside it.
func (t *groupTree) Signal(sig Signal) (Delivery, error) {
	d, err := t.send(sig)
	if sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT {
		// A stopped process must be continued to act on these. Best effort.
		_, _ = t.send(SIGCONT)
	}
	return d, err
}

func (t *groupTree) send(sig Signal) (Delivery, error) {
	// The scan comes first: a signal may end the processes that are counted, and
	// those by whose numbers the others are found.
	members, err := t.scan()
	if err != nil {
		return Delivery{}, err
	}
	if t.Ended() {
		members = slices.DeleteFunc(members, func(m kin) bool { return m.pid == t.id.PID && m.start == t.id.Birth })
	}
	grouped, groupErr := t.signalGroup(sig)
	var d Delivery
	err = groupErr
	for _, m := range members {
		if m.pgrp == t.id.PID && grouped {
			d.Sent++
			continue
		}
		// The number is compared once more right before; what is left is the time
		// between two calls.
		k, kerr := darwin.ReadKinfo(m.pid)
		if kerr != nil || k.Start != m.start {
			continue
		}
		switch serr := darwin.Kill(m.pid, syscall.Signal(sig)); serr {
		case nil:
			d.Sent++
		case syscall.ESRCH:
		default:
			err = serr
		}
	}
	if d.Sent > 0 {
		err = nil
	}
	return d, err
}

// signalGroup signals the group by its number while the leader, alive or a
// zombie, keeps that taken.
func (t *groupTree) signalGroup(sig Signal) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return false, nil
	}
	switch err := darwin.KillGroup(t.id.PID, syscall.Signal(sig)); err {
	case nil:
		return true, nil
	case syscall.ESRCH, syscall.EPERM:
		// macOS answers EPERM, too, for a group of which only zombies are left.
		// Members that are there all the same are signalled one by one.
		return false, nil
	default:
		return false, err
	}
}

// Members lists the group and what ancestry found. The names are the kernel's.
func (t *groupTree) Members() ([]Member, Completeness) {
	members, err := t.scan()
	if err != nil {
		return nil, BestEffort
	}
	out := make([]Member, 0, len(members))
	for _, m := range members {
		out = append(out, Member{
			ID:      ID{PID: m.pid, Birth: m.start, Kind: BirthStartMicros, Boot: bootID()},
			PPID:    m.ppid,
			Command: m.name,
		})
	}
	return out, GroupOnly
}
