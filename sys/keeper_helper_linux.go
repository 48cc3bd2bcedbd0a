package sys

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// startKeeperDetached starts the keeper and ends, so that neither it nor a shim
// descends from the supervisor: a host that ends its server by walking parent
// numbers meets the supervisor alone, and the shims then do their work. The
// exit status is the errno of a failure.
func startKeeperDetached() int {
	linux.UseProc(shimProc)
	if _, err := startHelper(roleKeeper, 0, 1, 2, shimControl, shimBoss); err != nil {
		return int(errnoOf(err))
	}
	return 0
}

// keeper is the parent of a supervisor's shims and, as a subreaper, the one to
// whom the tree of a shim falls that was killed, by its own job for example. It
// ends that tree, and ends itself after the supervisor and the last shim.
type keeper struct {
	ctl, boss int

	mu    sync.Mutex // as in shim
	shims map[int]int64
	lost  []int64       // serials of killed shims whose trees may live
	born  chan struct{} // told when there is a child again; buffered
	done  bool          // the supervisor is gone or has let go
}

func runKeeper() int {
	runtime.LockOSThread()
	if err := enterHelper(); err != nil {
		return 1
	}
	k := &keeper{ctl: shimControl, boss: shimBoss, shims: map[int]int64{}, born: make(chan struct{}, 1)}
	if err := linux.BecomeSubreaper(); err != nil {
		k.say(word{kind: wordFailed, args: []int64{stepHelper, int64(errnoOf(err))}})
		return 1
	}
	linux.UseProc(shimProc)
	self, err := linux.SelfPidfd()
	if err != nil {
		return 1
	}
	go k.reap()
	k.say(word{kind: wordReady}, self)
	linux.CloseFD(self)
	room := make([]byte, maxWord+1)
	for {
		m, gone := hear(k.ctl, k.boss, room)
		if gone {
			k.leave()
		}
		if m.kind == wordShim && len(m.files) == 1 {
			k.start(m.files[0], m.arg(0))
		}
		closeAll(m.files)
	}
}

func (k *keeper) say(w word, pass ...int) { _ = linux.Send(k.ctl, w.encode(), pass...) }

// start starts a shim whose socket is fd. Why not is told on that socket.
func (k *keeper) start(fd int, serial int64) {
	k.mu.Lock()
	pid, err := startHelper(roleShim, 0, 1, 2, uintptr(fd), uintptr(k.boss))
	if err == nil {
		k.shims[pid] = serial
	}
	k.mu.Unlock()
	if err != nil {
		no := errnoOf(err)
		_ = linux.Send(fd, word{kind: wordFailed, args: []int64{stepHelper, int64(no)}}.encode())
		return
	}
	select {
	case k.born <- struct{}{}:
	default:
	}
}

const (
	// leavePause is the distance of the looks at shims that ought to end.
	leavePause = 100 * time.Millisecond
	// leaveLooks is after how many of them a shim is killed: one that a job
	// keeps stopping. Its tree then falls to us.
	leaveLooks = 20
)

// leave waits for the shims, which know of the supervisor's end themselves,
// and does not return: the other thread ends the process after the last.
func (k *keeper) leave() {
	k.mu.Lock()
	k.done = true
	k.mu.Unlock()
	select {
	case k.born <- struct{}{}: // wakes one that has no child to wait for
	default:
	}
	for look := 0; ; look++ {
		k.mu.Lock()
		for pid := range k.shims {
			_ = linux.Kill(pid, syscall.SIGCONT)
			if look >= leaveLooks {
				_ = linux.Kill(pid, syscall.SIGKILL)
			}
		}
		k.mu.Unlock()
		linux.Pause(leavePause)
	}
}

// reap collects what ends. A shim ends by itself only after its tree, so one
// that was killed leaves orphans to us.
func (k *keeper) reap() {
	pause := peelPause
	for {
		next := linux.NextEnded
		if len(k.lost) > 0 {
			next = linux.EndedNow
		}
		pid, err := next()
		switch {
		case err == nil && pid > 0:
			k.collect(pid)
			pause = peelPause
			continue
		case err != nil && !errors.Is(err, syscall.ECHILD):
			syscall.Exit(1)
		case len(k.lost) > 0:
			if k.killOrphans() {
				linux.Pause(pause)
				pause = min(2*pause, peelWaitMax)
			}
		default:
			k.mu.Lock()
			over := k.done && len(k.shims) == 0
			k.mu.Unlock()
			if over {
				syscall.Exit(0)
			}
			<-k.born
		}
	}
}

func (k *keeper) collect(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, _ := linux.ReapPID(pid) // it has ended and is ours
	if serial, ours := k.shims[pid]; ours {
		delete(k.shims, pid)
		if e.Signal != 0 {
			k.lost = append(k.lost, serial)
		}
	}
}

// killOrphans kills all children but the shims. False: there were none, so
// whatever descended from the lost shims is gone, and the supervisor is told.
func (k *keeper) killOrphans() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	kids, err := linux.Children(os.Getpid())
	if err != nil {
		return true
	}
	found := false
	for _, pid := range kids {
		if _, shim := k.shims[pid]; !shim {
			found = true
			_ = linux.KillGroup(pid, syscall.SIGKILL)
			_ = linux.Kill(pid, syscall.SIGKILL)
		}
	}
	if found {
		return true
	}
	for _, serial := range k.lost {
		k.say(word{kind: wordPeeled, args: []int64{serial}})
	}
	k.lost = nil
	return false
}
