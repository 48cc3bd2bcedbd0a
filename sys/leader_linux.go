package sys

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// leader is the started process under watch: what the rungs share.
type leader struct {
	id     ID
	pidfd  *linux.Pollable
	exited chan struct{}
	// Valid once exited is closed.
	exit Exit
	used Usage
	// floor is the peak memory of whoever started the leader, then. Exec counts the
	// memory of the vforking parent as the child's (exec_mmap), so only a peak
	// above it is the leader's own.
	floor  int64
	can    abilities
	tables *views // the host's
	mark   uint64 // that it bears; 0: none
	began  moment
	peak   atomic.Int64 // largest peak that a live reading gave

	stat stat

	mu      sync.Mutex
	reaped  bool         // guarded by mu
	release func() error // of the tree made of it, if any; guarded by mu

	finishing sync.Once
	finished  func() // what the host forgets; runs once
}

// abilities are what this kernel is known to be able to do, the same for all of a
// tree's life.
type abilities struct {
	groupByPidfd bool // signal a group by pidfd, even after its leader's reap (6.9)
}

func (h *linuxHost) can() abilities {
	return abilities{groupByPidfd: !h.noPidfdGroups && linux.HasPidfdGroups()}
}

// newLeader takes over a child of ours. On an error the process was ended.
func newLeader(c linux.Child, can abilities, tables *views) (*leader, error) {
	id := idOf(c)
	if c.Start == 0 {
		var err error
		if id, err = identify(c.PID, c.Pidfd); err != nil {
			discard(c.PID, c.Pidfd)
			return nil, err
		}
	}
	l, err := makeLeader(id, c.Pidfd, can, tables)
	if err != nil {
		// The pidfd is closed; the unreaped number is still ours.
		_ = linux.KillGroup(c.PID, syscall.SIGKILL)
		_ = linux.Kill(c.PID, syscall.SIGKILL)
		_, _ = linux.ReapPID(c.PID)
		return nil, err
	}
	l.floor = linux.OwnPeakMemory()
	return l, nil
}

// makeLeader takes over the pidfd. On an error it is closed.
func makeLeader(id ID, pidfd int, can abilities, tables *views) (*leader, error) {
	poll, err := linux.NewPollable(pidfd, fmt.Sprintf("pidfd of %d", id.PID))
	if err != nil {
		return nil, err
	}
	return &leader{id: id, pidfd: poll, exited: make(chan struct{}), can: can, tables: tables, began: tables.moment()}, nil
}

// identify reads the identity of a process that nobody reaps meanwhile.
func identify(pid, pidfd int) (ID, error) {
	st, err := linux.ReadStat("/proc", pid)
	if err != nil {
		return ID{}, fmt.Errorf("read identity of %d: %w", pid, err)
	}
	return idOf(linux.Child{PID: pid, Pidfd: pidfd, Start: st.Start}), nil
}

func idOf(c linux.Child) ID {
	return ID{PID: c.PID, Birth: c.Start, Kind: BirthStartTicks, Boot: linux.BootID(), Unique: linux.PidfdUnique(c.Pidfd)}
}

// Leader is the identity of the started process.
func (l *leader) Leader() ID { return l.id }

// Exited is closed when the leader's end was observed.
func (l *leader) Exited() <-chan struct{} { return l.exited }

// Exit is valid once Exited is closed.
func (l *leader) Exit() Exit {
	select {
	case <-l.exited:
		return l.exit
	default:
		return Exit{}
	}
}

func (l *leader) ended() bool {
	select {
	case <-l.exited:
		return true
	default:
		return false
	}
}

// observe waits in the poller until the leader ended and takes its status and
// usage while it is still unreaped. It does not close exited.
func (l *leader) observe() error {
	var e linux.Exit
	var waitErr error
	err := l.pidfd.Wait(func(fd int) bool {
		var done bool
		e, done, waitErr = linux.WaitPeek(fd)
		return done || waitErr != nil
	})
	if err == nil {
		err = waitErr
	}
	if err != nil {
		return err
	}
	l.conclude(e)
	return nil
}

// conclude takes the leader's status and usage.
func (l *leader) conclude(e linux.Exit) {
	l.exit = Exit{Code: e.Code, Signal: Signal(e.Signal), Core: e.Core, At: time.Now()}
	l.used = Usage{CPU: e.Usage.CPU, PeakMemory: -1, IORead: e.Usage.Read, IOWrite: e.Usage.Written, PeakProcesses: -1}
	if e.Usage.MaxRSS > l.floor {
		l.used.PeakMemory = e.Usage.MaxRSS
	} else if n := l.peak.Load(); n > 0 {
		l.used.PeakMemory = n
	}
}

// reap collects the ended leader, once. Its number may be used again after.
func (l *leader) reap() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reaped {
		return
	}
	// An error means that the pidfd was closed, which only a finished tree does.
	_ = l.pidfd.Use(func(fd int) { _, l.reaped, _ = linux.Reap(fd) })
}

// finish gives back what is held of the ended leader, once.
func (l *leader) finish() {
	l.finishing.Do(func() {
		l.reap()
		l.pidfd.Close()
		l.finished()
	})
}

// owner tells which tree gives the leader back.
func (l *leader) owner(release func() error) {
	l.mu.Lock()
	l.release = release
	l.mu.Unlock()
}

// drop ends a leader that is still there when the host closes.
func (l *leader) drop() {
	l.signalSelf(SIGKILL)
	l.mu.Lock()
	release := l.release
	l.mu.Unlock()
	if release != nil {
		_ = release() // Best effort: the container is removed with the host's.
	}
}

// signalGroup signals the leader's process group, by the pidfd where the
// kernel can, else by its number while the leader keeps that taken. False:
// neither is possible any more, or nobody is left.
func (l *leader) signalGroup(sig Signal) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	switch {
	case l.can.groupByPidfd:
		if cerr := l.pidfd.Use(func(fd int) { err = linux.PidfdSignalGroup(fd, syscall.Signal(sig)) }); cerr != nil {
			return false, nil
		}
	case !l.reaped:
		err = linux.KillGroup(l.id.PID, syscall.Signal(sig))
	default:
		return false, nil
	}
	if err == syscall.ESRCH {
		return false, nil
	}
	return err == nil, err
}

// signalSelf signals the leader alone.
func (l *leader) signalSelf(sig Signal) {
	_ = l.pidfd.Use(func(fd int) { _ = linux.PidfdSignal(fd, syscall.Signal(sig)) })
}

// Limits: none are in force where no container could hold them.
func (l *leader) Limits() []LimitRecord { return nil }

// Evidence: without limits none is met.
func (l *leader) Evidence() LimitEvidence { return noEvidence }

// Stopped reports whether the leader is stopped.
func (l *leader) Stopped() bool {
	if l.ended() {
		return false
	}
	st, err := l.stat.read(l.id)
	return err == nil && st.Start == l.id.Birth && st.Stopped()
}

// running is what the live leader has used by now.
func (l *leader) running() Usage {
	u := Usage{CPU: -1, PeakMemory: -1, IORead: -1, IOWrite: -1, PeakProcesses: -1}
	st, err := l.stat.read(l.id)
	if err != nil || st.Start != l.id.Birth {
		return u
	}
	u.CPU = time.Duration(st.CPU) * (time.Second / linux.TicksPerSecond)
	if n, err := linux.ReadPeakMemory(l.id.PID); err == nil && n > 0 {
		u.PeakMemory = n
		l.peak.Store(n) // never falls: the kernel keeps the maximum
	}
	if r, w, err := linux.ReadIO(l.id.PID); err == nil {
		u.IORead, u.IOWrite = r, w
	}
	return u
}

// abort ends a leader that no tree was made of. It returns once it was reaped.
func (l *leader) abort() {
	_, _ = l.signalGroup(SIGKILL)
	l.signalSelf(SIGKILL)
	_ = l.observe() // an error means that the host was closed meanwhile
	l.finish()
}
