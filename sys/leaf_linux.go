package sys

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// leaf is the container of one tree: a control group below the host's. To make
// one and remove it costs the kernel more than all else that a short job asks of
// it, so a few are kept when their trees have ended, for others. Where none of
// those is left, the next one is made while a tree runs.
type leaf struct {
	*linux.HeldCgroup
	kept   bool          // one of those few: its files stay open
	counts bool          // memory and tasks, too
	waited bool          // it was there before its tree was asked for
	spent  time.Duration // processor time of the trees before
}

// keptLeaves is how many containers of a host, in use or not, have their files
// open and are used again. More jobs at once get others, which are made and
// removed: a host with a thousand jobs must not need a thousand descriptors more.
const keptLeaves = 8

// takeLeaf gives the container of one tree: one that waits, if it is as if it had
// just been made, else a new one.
func (r *cgroupRung) takeLeaf() (*leaf, error) {
	for l := r.idleLeaf(); l != nil; l = r.idleLeaf() {
		if l.waited = true; l.asNew() {
			l.kept = l.kept || r.keepOne()
			return l, nil
		}
		r.discard(l)
	}
	return r.newLeaf()
}

// newLeaf makes a container for a tree.
func (r *cgroupRung) newLeaf() (*leaf, error) {
	l, err := r.makeLeaf()
	if err == nil {
		l.kept = r.keepOne()
	}
	return l, err
}

// makeNext makes the container of the next tree, if none waits: while one runs,
// nobody waits for that. A hasty host has no next tree, and what holds limits is
// made with them.
func (r *cgroupRung) makeNext() {
	r.mu.Lock()
	no := r.making || r.closed || len(r.idle) > 0 || r.limiting() || r.host.opt.Hasty
	r.making = r.making || !no
	r.mu.Unlock()
	if no {
		return
	}
	l, err := r.makeLeaf()
	r.mu.Lock()
	r.making = false
	open := !r.closed
	if err == nil && open {
		r.idle = append(r.idle, l)
	}
	r.mu.Unlock()
	if err == nil && !open {
		r.discard(l)
	}
}

func (r *cgroupRung) idleLeaf() *leaf {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.idle) == 0 {
		return nil
	}
	l := r.idle[len(r.idle)-1]
	r.idle = r.idle[:len(r.idle)-1]
	return l
}

// asNew tells whether a process may be born in it, and notes from what its
// processor time counts on. A process born in a frozen group never reaches its
// exec.
func (l *leaf) asNew() bool {
	populated, frozen, err := l.State()
	if err != nil || populated || frozen {
		return false
	}
	cpu, ok := l.HeldCgroup.CPU()
	l.spent = cpu
	return ok
}

var errFrozen = errors.New("the control group is frozen from above")

// makeLeaf makes a container that is not kept.
func (r *cgroupRung) makeLeaf() (*leaf, error) {
	held, err := r.makeBelow(randomName())
	if err != nil {
		return nil, err
	}
	l := &leaf{HeldCgroup: held, counts: r.limiting()}
	if err := l.Watch(); err != nil {
		r.discard(l)
		return nil, err
	}
	if !l.counts {
		_ = l.Count() // Best effort: without it the container is not used again.
	}
	_, frozen, err := l.State()
	if err == nil && frozen {
		// The directory is ours: a job that froze it holds up all others.
		if err = r.dir.Thaw(); err == nil {
			if _, frozen, err = l.State(); frozen {
				err = errFrozen
			}
		}
	}
	if err != nil {
		r.discard(l)
		return nil, fmt.Errorf("%s: %w", r.dir.Path(), err)
	}
	return l, nil
}

// keepOne tells whether one more container may be kept. Those with limits never
// are: what they count belongs to one tree.
func (r *cgroupRung) keepOne() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limiting() || r.kept >= keptLeaves {
		return false
	}
	r.kept++
	return true
}

// keepLess says that a container is not kept any more.
func (r *cgroupRung) keepLess(l *leaf) {
	if l.kept {
		l.kept = false
		r.mu.Lock()
		r.kept--
		r.mu.Unlock()
	}
}

// started tells that a tree is in the container. Of one that is not kept a single
// file stays open: with limits the one that tells of its end, else the one that
// counts; that end its removal tells.
func (l *leaf) started() {
	switch {
	case l.counts:
		l.CloseDir()
	case !l.kept:
		l.CloseDir()
		l.Unwatch()
	}
}

// CPU is the processor time of the tree that is in the container.
func (l *leaf) CPU() (time.Duration, bool) {
	cpu, ok := l.HeldCgroup.CPU()
	return cpu - l.spent, ok
}

// usage puts in what the container counts for the whole tree.
func (l *leaf) usage(u Usage) Usage {
	if cpu, ok := l.CPU(); ok && cpu >= u.CPU {
		u.CPU = cpu
	}
	if !l.counts {
		return u
	}
	if n, ok := l.PeakMemory(); ok {
		u.PeakMemory = n
	}
	if n, ok := l.PeakTasks(); ok {
		u.PeakProcesses = int(n)
	}
	return u
}

// giveBack takes the container of a tree that is gone, with proof. Whoever holds
// it still must not touch it.
func (r *cgroupRung) giveBack(l *leaf) {
	if l.kept && l.Reusable() {
		r.mu.Lock()
		room := !r.closed && len(r.idle) < keptLeaves
		if room {
			r.idle = append(r.idle, l)
		}
		r.mu.Unlock()
		if room {
			return
		}
	}
	r.discard(l)
}

// discard removes a container. What still lives in it is ended, and the
// container then removed with a later one or when the host closes.
func (r *cgroupRung) discard(l *leaf) {
	r.keepLess(l)
	l.Close()
	busy := l.Remove() != nil
	r.mu.Lock()
	defer r.mu.Unlock()
	if busy {
		_ = l.Kill() // Best effort: repeated below and at the close.
		r.left = append(r.left, l.Cgroup)
		return
	}
	r.left = slices.DeleteFunc(r.left, func(c *linux.Cgroup) bool {
		if c.Remove() == nil {
			return true
		}
		_ = c.Kill()
		return false
	})
}

// makeBelow makes a directory in that of the host, unless that was closed.
func (r *cgroupRung) makeBelow(name string) (*linux.HeldCgroup, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errHostClosed
	}
	return r.dir.Make(name)
}

// shut closes what is open of the host's directory and of the containers in it
// that are kept. From then on none is made, and none kept.
func (r *cgroupRung) shut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, l := range r.idle {
		l.Close()
	}
	r.idle = nil
	if r.dir != nil {
		r.dir.Close()
	}
}
