package sys

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// cgroupTree holds every process that the leader starts, whatever session,
// group or parent it takes, in a control group of its own.
//
// The leader is reaped as soon as its end was seen: the control group, not its
// number, names the tree.
type cgroupTree struct {
	family
	emptiness
	rung   *cgroupRung
	host   uint64 // base of the host's marks
	limits []LimitRecord
	total  Usage // valid once it is empty, as is met
	met    LimitEvidence
	done   chan struct{} // run has ended
	// outside: a member was found outside the control group, so that group and
	// ancestry are what still holds the tree.
	outside atomic.Bool

	// leafMu is held shared while the container is touched, and alone while it is
	// given back: after that it may be another tree's.
	leafMu sync.RWMutex
	leaf   *leaf
	given  bool        // guarded by leafMu
	killed atomic.Bool // the whole container was
}

func newCgroupTree(l *leader, r *cgroupRung, in *leaf, limits []LimitRecord) *cgroupTree {
	t := &cgroupTree{family: family{leader: l}, rung: r, host: r.host.marks.base, leaf: in, limits: limits,
		emptiness: newEmptiness(), done: make(chan struct{})}
	l.owner(t.Release)
	go t.run()
	return t
}

// Guarantee tells what holds now: without an armed guardian, or with a member
// outside, less than at the start.
func (t *cgroupTree) Guarantee() Guarantee {
	if !t.ended() {
		t.noteOutside()
	}
	if t.outside.Load() {
		return Guarantee{Mechanism: CgroupV2, Kill: ScopeGroup, LeaderExit: ScopeGroup,
			SupervisorDeath: ScopeLeader, HelperDeath: ScopeLeader}
	}
	return t.rung.guarantee()
}

// run is the tree's owner.
func (t *cgroupTree) run() {
	defer func() {
		if t.isReleased() {
			t.free()
		}
		close(t.done)
	}()
	t.rung.makeNext()
	if t.observe() != nil {
		return // the host was closed
	}
	// A leader that ended outside tells so as a zombie. It is not reaped then
	// before group and session, known by its number, were looked for.
	t.noteOutside()
	if !t.outside.Load() {
		t.reap()
	}
	close(t.exited)
	if t.isReleased() {
		return
	}
	gone := t.vanished()
	if !gone && !t.vacated() {
		return
	}
	proof := ProofCgroupEmpty
	for t.lookAfter(false) || t.outside.Load() && proof == ProofCgroupEmpty {
		if !t.outlast() {
			return
		}
		proof = ProofGroupScan
	}
	if !gone {
		t.total = t.leaf.usage(t.used)
	}
	t.met = evidenceOf(t.leaf.Cgroup, t.limits)
	t.prove(proof)
}

// vanished removes a container that no other tree will have, and takes its usage
// before. The kernel refuses as long as something lives in it, so where it does not
// that is the proof, and takes no file to ask.
func (t *cgroupTree) vanished() bool {
	if t.leaf.Watched() || t.outside.Load() {
		return false
	}
	t.total = t.leaf.usage(t.used)
	return t.leaf.RemoveEmpty()
}

// inLeaf calls f unless the container was given back.
func (t *cgroupTree) inLeaf(f func(in *leaf)) {
	t.leafMu.RLock()
	defer t.leafMu.RUnlock()
	if !t.given {
		f(t.leaf)
	}
}

// vacated waits until the kernel says that nothing lives in the group. The
// notice of that comes late, about 10 ms after another one; the file itself
// is right at once or, with descendants, within moments. So it is read, and
// read again at short distances, before the notice is relied on.
func (t *cgroupTree) vacated() bool {
	if err := t.watch(); err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if populated, _, err := t.leaf.State(); !populated {
		return err == nil || errors.Is(err, fs.ErrNotExist)
	}
	events, err := t.leaf.Pollable()
	if err != nil {
		return false
	}
	var readErr error
	done := func(fd int) bool {
		var populated bool
		populated, readErr = linux.Populated(fd)
		return !populated || readErr != nil
	}
	return t.awaitBy(events, func() error {
		for _, wait := range []time.Duration{200, 500, 1000, 2000, 4000} {
			_ = events.SetDeadline(time.Now().Add(wait * time.Microsecond))
			if err := events.Wait(done); err == nil || !os.IsTimeout(err) {
				return err
			}
		}
		_ = events.SetDeadline(time.Time{})
		return events.Wait(done)
	}) && readErr == nil
}

// watch opens what tells whether something lives in the container, unless it is.
// Where no descriptor is left, nothing tells when there will be one.
func (t *cgroupTree) watch() error {
	if t.leaf.Watched() {
		return nil
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := t.leaf.Watch()
		if !isScarce(err) || t.isReleased() {
			return err
		}
		linux.Pause(pause)
	}
}

// Signal sends to the leader's group first and then, one by one, to the
// members outside it.
func (t *cgroupTree) Signal(sig Signal) (Delivery, error) {
	t.lookBefore() // whoever ends by it no longer tells of its children
	return waking(sig, func(sig Signal) (Delivery, error) { return t.sendTwice(t.members, sig) })
}

// members reads the live members out of the container, and out of ancestry
// when one is known to be outside.
func (t *cgroupTree) members() []kin {
	var out []kin
	seen := map[int]bool{}
	t.inLeaf(func(in *leaf) {
		for _, pid := range in.Procs() {
			if st, err := linux.ReadStat("/proc", pid); err == nil && !st.Dead() && !seen[pid] {
				seen[pid] = true
				out = append(out, kinOf(st))
			}
		}
	})
	if !t.ended() && !seen[t.id.PID] {
		t.noteOutside()
	}
	if t.outside.Load() {
		more, _ := t.scan() // Best effort: the container's own list stands.
		out = append(out, slices.DeleteFunc(more, func(m kin) bool { return seen[m.pid] })...)
	}
	return out
}

// Kill ends the container, and by group and ancestry what was found outside.
func (t *cgroupTree) Kill(ctx context.Context) (KillReport, error) {
	t.noteOutside() // while the leader can still be asked, and parents tell of children
	t.lookBefore()
	return killRounds(ctx, t, time.Millisecond, func() error {
		if t.isReleased() {
			return os.ErrClosed
		}
		err := os.ErrClosed
		t.inLeaf(func(in *leaf) {
			t.killed.Store(true)
			err = in.Kill()
		})
		if t.outside.Load() {
			t.lookAfter(true)
			_, err = t.sendFamily(SIGKILL)
			t.signalSelf(SIGKILL)
		}
		if !t.ended() {
			if err != nil {
				t.signalSelf(SIGKILL)
			}
			t.noteOutside()
		}
		return err
	})
}

func (t *cgroupTree) Members() ([]Member, Completeness) {
	list := asMembers(t.members())
	if t.outside.Load() {
		return list, GroupOnly
	}
	return list, Exact
}

func (t *cgroupTree) Usage() Usage {
	select {
	case <-t.empty:
		return t.total
	default:
	}
	u := t.used
	if !t.ended() {
		u = t.running()
	}
	t.inLeaf(func(in *leaf) { u = in.usage(u) })
	return u
}

// Limits are those that the container holds.
func (t *cgroupTree) Limits() []LimitRecord { return t.limits }

func (t *cgroupTree) Evidence() LimitEvidence {
	select {
	case <-t.empty:
		return t.met
	default:
	}
	e := noEvidence
	t.inLeaf(func(in *leaf) { e = evidenceOf(in.Cgroup, t.limits) })
	return e
}

// Release removes the container. One that still holds something is given up:
// it is ended and removed when the host closes.
func (t *cgroupTree) Release() error {
	if !t.letGo() {
		return nil
	}
	if t.ended() {
		<-t.done
		t.free()
	}
	return nil
}

// free gives everything back; run and Release both may come here.
func (t *cgroupTree) free() {
	t.finishing.Do(func() {
		t.reap()
		t.pidfd.Close()
		t.leafMu.Lock()
		t.given = true
		t.leafMu.Unlock()
		if t.Proof() == ProofCgroupEmpty && !t.killed.Load() {
			t.rung.giveBack(t.leaf)
		} else {
			t.rung.discard(t.leaf)
		}
		t.finished()
	})
}
