package sys

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/darwin"
)

const (
	// spawnLimit bounds the wait for fork and exec.
	spawnLimit = 2 * time.Second
	// busyLimit bounds how long a file that is still open for writing is tried.
	busyLimit = 200 * time.Millisecond
)

// spawn starts the leader of a new session, and so of a new group. A child that
// is stuck in its exec holds up nobody else: on macOS the parent only reads from
// a pipe meanwhile. When spawnLimit passes the error is a CodeStartTimeout, and
// a process that starts after all is killed and reaped.
func spawn(sp *Spec) (pid int, err error) {
	type answer struct {
		pid int
		err error
	}
	attr := &syscall.ProcAttr{Dir: sp.Dir, Env: sp.Env, Sys: &syscall.SysProcAttr{
		Setsid: sp.Session != SessionShared, Setpgid: sp.Session == SessionShared, Setctty: sp.Session == SessionTerminal}}
	for _, f := range sp.Stdio {
		// Fd also makes the open file blocking, as programs expect it.
		attr.Files = append(attr.Files, f.Fd())
	}
	path, argv, approved, mask := sp.Path, sp.Argv, sp.Approved, sp.Umask
	ch := make(chan answer, 1)
	var taken atomic.Bool // by the answer, or by the caller that gave up
	go func() {
		// Never unlocked: the thread ends with the goroutine.
		darwin.LockToCleanThread()
		defer wear(mask)()
		pid, err := forkExec(path, argv, attr, approved, &taken)
		if taken.CompareAndSwap(false, true) {
			ch <- answer{pid, err}
		} else if err == nil {
			discard(pid)
		}
	}()
	timer := time.NewTimer(spawnLimit)
	defer timer.Stop()
	defer runtime.KeepAlive(sp)
	select {
	case a := <-ch:
		return a.pid, a.err
	case <-timer.C:
	}
	if taken.CompareAndSwap(false, true) {
		return 0, startTimeout(path, spawnLimit)
	}
	a := <-ch
	return a.pid, a.err
}

// masked keeps starts with a umask of their own apart from all others: it
// belongs to the whole process.
var masked sync.RWMutex

// wear puts on a umask for a start, until done.
func wear(mask *int) (done func()) {
	if mask == nil {
		masked.RLock()
		return masked.RUnlock
	}
	masked.Lock()
	was := syscall.Umask(*mask)
	return func() {
		syscall.Umask(was)
		masked.Unlock()
	}
}

func forkExec(path string, argv []string, attr *syscall.ProcAttr, approved FileStamp, given *atomic.Bool) (int, error) {
	deadline := time.Now().Add(busyLimit)
	for pause := time.Millisecond; ; pause *= 2 {
		if given.Load() {
			// The caller's descriptors may be somebody else's by now.
			return 0, os.ErrDeadlineExceeded
		}
		if (approved != FileStamp{}) {
			if now, err := stamp(path); err != nil || now != approved {
				return 0, changed(path)
			}
		}
		pid, err := syscall.ForkExec(path, argv, attr)
		if err != syscall.ETXTBSY || time.Now().Add(pause).After(deadline) {
			return pid, err
		}
		time.Sleep(pause)
	}
}

// discard ends a leader that nobody wants, with its group.
func discard(pid int) {
	_ = darwin.KillGroup(pid, syscall.SIGKILL)
	_ = darwin.Kill(pid, syscall.SIGKILL)
	_, _ = darwin.Reap(pid)
}
