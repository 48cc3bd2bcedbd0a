package sys

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// busyLimit bounds how long a file that is still open for writing is tried.
const busyLimit = 200 * time.Millisecond

// spawner starts every process of a host from one thread. The thread lives as
// long as the spawner, because the kernel ties the leaders' death signal to
// it, and has an empty signal mask, which they inherit. Starting one after
// another is also faster than side by side on a small machine: exec and exit
// contend in the kernel.
//
// A loose one has no thread of its own: the program has promised that its threads
// last, and all of them have an empty mask. What is born in a control group is
// then started by the goroutine that asks; see here.
type spawner struct {
	loose    bool
	requests chan *spawnRequest
	turn     chan struct{} // full while a process is started
	overdue  overdue
	stop     chan struct{}
	once     sync.Once
}

// birth is one process to start.
type birth struct {
	attr   linux.SpawnAttr
	before func() error // last check before the clone; may be nil
	kill   func() error // ends all in the control group that it is born in; nil: in ours
}

// birthIn has the process born in a control group; nil is ours.
func birthIn(in *linux.HeldCgroup, attr linux.SpawnAttr) birth {
	attr.CgroupFD = -1
	if in == nil {
		return birth{attr: attr}
	}
	attr.CgroupFD = in.Dir()
	return birth{attr: attr, kill: in.Kill}
}

type spawnRequest struct {
	birth
	answer chan spawned
	// taken is set by whoever is first: the spawner's answer, or the caller
	// that gave up waiting. The loser cleans up.
	taken atomic.Bool
}

type spawned struct {
	linux.Child
	err error
}

func newSpawner(loose bool) *spawner {
	s := &spawner{requests: make(chan *spawnRequest), turn: make(chan struct{}, 1), stop: make(chan struct{})}
	if s.loose = loose && linux.SignalMaskIsClear(); s.loose {
		go s.serve(nil)
	} else {
		go s.loop()
	}
	return s
}

// close ends the thread; leaders that still live get their death signal.
func (s *spawner) close() { s.once.Do(func() { close(s.stop) }) }

func (s *spawner) loop() {
	// Never unlocked: the thread ends with the goroutine.
	runtime.LockOSThread()
	s.serve(linux.ClearSignalMask())
}

func (s *spawner) serve(maskErr error) {
	for {
		select {
		case <-s.stop:
			return
		case r := <-s.requests:
			var out spawned
			if out.err = maskErr; out.err == nil {
				s.turn <- struct{}{}
				out = s.attempt(r)
				<-s.turn
			}
			if r.taken.CompareAndSwap(false, true) {
				r.answer <- out
			} else if out.err == nil {
				discard(out.PID, out.Pidfd)
			}
		}
	}
}

// attempt repeats while the file is open for writing: another thread's child
// between fork and exec may hold a just written program open for a moment.
func (s *spawner) attempt(r *spawnRequest) spawned {
	deadline := time.Now().Add(busyLimit)
	for pause := time.Millisecond; ; pause *= 2 {
		if r.taken.Load() {
			// Given up: the caller's descriptors may be somebody else's by now.
			return spawned{err: os.ErrDeadlineExceeded}
		}
		if r.before != nil {
			if err := r.before(); err != nil {
				return spawned{err: err}
			}
		}
		var out spawned
		out.Child, out.err = linux.Spawn(r.attr)
		if out.err != syscall.ETXTBSY || time.Now().Add(pause).After(deadline) {
			return out
		}
		// The kernel tells nobody when the last writer is gone.
		select {
		case <-time.After(pause):
		case <-s.stop:
			return out
		}
	}
}

// spawn runs one request. When limit passes first the error is a
// CodeStartTimeout, and a process that starts after all is killed and reaped.
func (s *spawner) spawn(b birth, limit time.Duration) (linux.Child, error) {
	if s.loose && b.kill != nil {
		return s.here(b, limit)
	}
	r := &spawnRequest{birth: b, answer: make(chan spawned, 1)}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case s.requests <- r:
	case <-s.stop:
		return linux.Child{}, os.ErrClosed
	case <-timer.C:
		return linux.Child{}, startTimeout(b.attr.Path, limit)
	}
	select {
	case out := <-r.answer:
		return out.Child, out.err
	case <-timer.C:
		if r.taken.CompareAndSwap(false, true) {
			return linux.Child{}, startTimeout(b.attr.Path, limit)
		}
		out := <-r.answer
		return out.Child, out.err
	}
}

// discard ends a process that nobody wants, with its group.
func discard(pid, pidfd int) {
	_ = linux.KillGroup(pid, syscall.SIGKILL)
	_ = linux.PidfdSignal(pidfd, syscall.SIGKILL)
	_, _ = linux.ReapPID(pid)
	linux.CloseFD(pidfd)
}
