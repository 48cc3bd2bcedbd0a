package sys

import (
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// kin is one process as a scan of the process table shows it.
type kin struct {
	pid, ppid, pgrp, session int
	start                    uint64
	mark                     uint64 // of a tree of this host; 0: none, or not looked for
	dead                     bool
	name                     string
}

// family is a leader with what its group, its session and ancestry show of its
// descendants: all of the process-group rung, and on the others the answer to
// a member that left its container.
type family struct {
	*leader

	scanMu sync.Mutex
	known  map[int]uint64 // live members of the last scan, by start

	waitMu   sync.Mutex
	waiting  *linux.Pollable // what the owner waits on
	released bool
}

// await waits on p until done says true. It takes p over. False: the tree was
// released, or the wait is impossible.
func (f *family) await(p *linux.Pollable, done func(fd int) bool) bool {
	return f.awaitBy(p, func() error { return p.Wait(done) })
}

// awaitBy is await with a wait of its own, which the end of p ends.
func (f *family) awaitBy(p *linux.Pollable, wait func() error) bool {
	defer p.Close()
	f.waitMu.Lock()
	if f.released {
		f.waitMu.Unlock()
		return false
	}
	f.waiting = p
	f.waitMu.Unlock()
	err := wait()
	f.waitMu.Lock()
	f.waiting = nil
	f.waitMu.Unlock()
	return err == nil
}

// letGo marks the tree released and wakes its owner. False: it was already.
func (f *family) letGo() bool {
	f.waitMu.Lock()
	defer f.waitMu.Unlock()
	if f.released {
		return false
	}
	f.released = true
	if f.waiting != nil {
		f.waiting.Close()
	}
	return true
}

func (f *family) isReleased() bool {
	f.waitMu.Lock()
	defer f.waitMu.Unlock()
	return f.released
}

// scan lists the live members and remembers them for the next scan, which may
// no longer see why they belong here.
func (f *family) scan() ([]kin, error) {
	all, err := f.tables.whole.read()
	if err != nil {
		return nil, err
	}
	f.scanMu.Lock()
	defer f.scanMu.Unlock()
	members := familyOf(all, f.id, f.numberHeld(), f.knownIn(all), os.Getpid())
	f.rememberLocked(members)
	return members, nil
}

// knownIn is who is known already and who bears the leader's mark. scanMu is held.
func (f *family) knownIn(all []kin) map[int]uint64 {
	if f.mark == 0 {
		return f.known
	}
	known := map[int]uint64{}
	for pid, start := range f.known {
		known[pid] = start
	}
	for _, p := range all {
		if p.mark == f.mark && !p.dead {
			known[p.pid] = p.start
		}
	}
	return known
}

// know adds to who is known already.
func (f *family) know(members []kin) {
	f.scanMu.Lock()
	defer f.scanMu.Unlock()
	if f.known == nil {
		f.known = map[int]uint64{}
	}
	for _, m := range members {
		f.known[m.pid] = m.start
	}
}

// remember notes live members that were found by other means.
func (f *family) remember(members []kin) {
	f.scanMu.Lock()
	defer f.scanMu.Unlock()
	f.rememberLocked(members)
}

func (f *family) rememberLocked(members []kin) {
	f.known = make(map[int]uint64, len(members))
	for _, m := range members {
		f.known[m.pid] = m.start
	}
}

// numberHeld tells whether the leader's number cannot name another group yet.
func (f *family) numberHeld() bool {
	f.mu.Lock()
	reaped := f.reaped
	f.mu.Unlock()
	return !reaped || f.groupThere()
}

// groupThere is the kernel's answer, where it has one, that a process of the
// leader's group exists.
func (f *family) groupThere() bool {
	there, _ := f.askGroup()
	return there
}

// groupGone is the kernel's answer, where it has one, that none exists.
func (f *family) groupGone() bool {
	there, known := f.askGroup()
	return known && !there
}

func (f *family) askGroup() (there, known bool) {
	if !f.can.groupByPidfd {
		return false, false
	}
	err := syscall.EBADF
	_ = f.pidfd.Use(func(fd int) {
		err, _ = linux.PidfdSignalGroup(fd, 0).(syscall.Errno)
	})
	return err == 0 || err == syscall.EPERM, err == 0 || err == syscall.EPERM || err == syscall.ESRCH
}

// outlast waits for one live member after another until none is left. Where
// the group can be asked by pidfd the leader is reaped after the first scan;
// before 6.9 its zombie stays, so that the group's number names nobody else.
// False: the tree was released before.
func (f *family) outlast() bool {
	for clean := 0; !f.isReleased(); {
		members, err := f.scan()
		if err != nil {
			return false
		}
		if f.can.groupByPidfd {
			f.reap()
		}
		if len(members) == 0 {
			// A table is not read in one moment: a member may end after its child
			// got a number that was passed already. So a second look, or for a
			// group alone the kernel's own word that it is gone.
			if clean++; clean == 2 || f.mark == 0 && f.groupGone() {
				return true
			}
			continue
		}
		clean = 0
		fd, err := linux.OpenProcess(members[0].pid, members[0].start)
		if err != nil {
			continue // gone already
		}
		p, err := linux.NewPollable(fd, "pidfd of a member")
		if err != nil || !f.await(p, linux.PidfdExited) {
			return false
		}
	}
	return false
}

// sendFamily signals the group and then, one by one, what is outside it. The
// scan comes first: a signal may end the processes by whose numbers the others
// are found.
func (f *family) sendFamily(sig Signal) (Delivery, error) {
	members, err := f.scan()
	if err != nil {
		return Delivery{}, err
	}
	// The table may have been read for others as well, some time ago.
	members = slices.DeleteFunc(members, func(m kin) bool {
		st, err := linux.ReadStat("/proc", m.pid)
		return err != nil || st.Start != m.start || st.Dead()
	})
	_, d, err := f.sendTo(members, sig)
	return d, err
}

// sendTwice looks for the members before, because a signal may end them, and once
// more after it for those that were born meanwhile. A signal to the group has reached
// whoever forked in it, before or after, so only others are late.
func (f *family) sendTwice(list func() []kin, sig Signal) (Delivery, error) {
	before := list()
	grouped, d, err := f.sendTo(before, sig)
	late := slices.DeleteFunc(list(), func(m kin) bool {
		return grouped && m.pgrp == f.id.PID || slices.ContainsFunc(before, func(b kin) bool { return b.pid == m.pid && b.start == m.start })
	})
	more, _ := sendRest(f.id.PID, false, late, sig, nil) // Best effort: whoever was there is told of.
	d.Sent += more.Sent
	return d, err
}

// sendTo signals the group, if that has a name, and then, one by one, the members
// outside it. Who is counted was alive right before: the kernel takes a signal to
// the group of a zombie, too.
func (f *family) sendTo(members []kin, sig Signal) (grouped bool, d Delivery, err error) {
	if f.Ended() {
		members = slices.DeleteFunc(members, func(m kin) bool { return m.pid == f.id.PID && m.start == f.id.Birth })
	}
	grouped, err = f.signalGroup(sig)
	d, err = sendRest(f.id.PID, grouped, members, sig, err)
	return grouped, d, err
}

// sendRest signals the members that a signal to the group did not reach, and
// counts all.
func sendRest(pgid int, grouped bool, members []kin, sig Signal, groupErr error) (Delivery, error) {
	var d Delivery
	err := groupErr
	for _, m := range members {
		if m.pgrp == pgid && grouped {
			d.Sent++
			continue
		}
		switch merr := linux.SignalProcess(m.pid, m.start, syscall.Signal(sig)); merr {
		case nil:
			d.Sent++
		case syscall.ESRCH:
		default:
			err = merr
		}
	}
	if d.Sent > 0 {
		err = nil
	}
	return d, err
}

// waking sends a signal, and SIGCONT after one on which a stopped process acts only
// once it is continued.
func waking(sig Signal, send func(Signal) (Delivery, error)) (Delivery, error) {
	d, err := send(sig)
	switch sig {
	case SIGTERM, SIGINT, SIGHUP, SIGQUIT:
		_, _ = send(SIGCONT)
	}
	return d, err
}

func kinOf(st linux.Stat) kin {
	return kin{pid: st.PID, ppid: st.PPID, pgrp: st.Pgrp, session: st.Session,
		start: st.Start, dead: st.Dead(), name: st.Comm}
}

func asMembers(list []kin) []Member {
	out := make([]Member, 0, len(list))
	for _, m := range list {
		out = append(out, Member{
			ID:      ID{PID: m.pid, Birth: m.start, Kind: BirthStartTicks, Boot: linux.BootID()},
			PPID:    m.ppid,
			Command: m.name,
		})
	}
	return out
}
