package sys

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// orderFailure tells why an order could not be carried out.
type orderFailure struct {
	step  int
	errno syscall.Errno
}

func failedStep(step int, err error) *orderFailure {
	return &orderFailure{step: step, errno: errnoOf(err)}
}

// errnoOf is the kernel's number in an error, 0 without one.
func errnoOf(err error) syscall.Errno {
	no, _ := errors.AsType[syscall.Errno](err)
	return no
}

func readOrder(fd int) (*order, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, err
	}
	b := make([]byte, st.Size)
	n, err := linux.ReadAt(fd, b, 0)
	if err != nil {
		return nil, err
	}
	if n < len(b) {
		return nil, io.ErrUnexpectedEOF
	}
	return decodeOrder(b)
}

// startOrdered starts the leader of an order, from the calling thread, with
// files as its descriptors 0, 1 and 2. A child beside a failure is a process that
// must not live on.
func startOrdered(o *order, files []int) (c linux.Child, failure *orderFailure) {
	if err := syscall.Chdir(o.Dir); err != nil {
		return linux.Child{}, failedStep(stepDir, err)
	}
	defer func() { _ = syscall.Chdir("/") }() // keeps nobody's directory busy
	if o.Umask != nil {
		syscall.Umask(*o.Umask) // a helper makes no files
	}
	checked := o.Approved != FileStamp{}
	var native bool // the program is what /proc/pid/exe will show
	if checked {
		program, err := lookFile(o.Path, o.Approved, &programFacts{})
		if err != nil {
			return linux.Child{}, failedStep(stepCheck, err)
		}
		native = program.Native()
	}
	attr := linux.SpawnAttr{Path: o.Path, Argv: o.Argv, Env: o.Env, CgroupFD: -1, OnDeath: syscall.SIGKILL, Terminal: o.Terminal,
		Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])}}
	deadline := time.Now().Add(busyLimit)
	for pause := time.Millisecond; ; pause *= 2 {
		if checked {
			if now, err := stamp(o.Path); err != nil || now != o.Approved {
				return linux.Child{}, &orderFailure{step: stepCheck}
			}
		}
		var err error
		c, err = startMarked(o.Mark, attr)
		if err == nil {
			break
		}
		if err != syscall.ETXTBSY || time.Now().Add(pause).After(deadline) {
			return linux.Child{}, failedStep(stepExec, err)
		}
		linux.Pause(pause) // the kernel tells nobody when the last writer is gone
	}
	if native && ranAnother(c.PID, o.Path, o.Approved) {
		linux.CloseFD(c.Pidfd)
		return c, &orderFailure{step: stepCheck}
	}
	return c, nil
}

// helperEnv is the whole environment of a helper: it needs nothing of ours. A
// small heap is never collected, so the collector starts no thread.
func helperEnv() []string { return []string{"GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=64MiB"} }

// startHelper starts this binary again as shim or keeper, in a session of its own,
// with files as its first descriptors, shimProc after them.
func startHelper(role string, files ...uintptr) (pid int, err error) {
	files = append(files, uintptr(linux.ProcDir()))
	return syscall.ForkExec(selfExe(), []string{helperName, role}, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}
