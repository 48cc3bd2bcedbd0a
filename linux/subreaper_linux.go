package linux

import (
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper makes this process the parent of every descendant that loses
// its own (PR_SET_CHILD_SUBREAPER, 3.4).
func BecomeSubreaper() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// NextEnded waits for a child that has ended, whichever it is, and leaves it
// unreaped. ECHILD: there is no child at all, ended or not, which only a
// process that started all its children itself may take for a proof.
func NextEnded() (pid int, err error) {
	return anyEnded(unix.WEXITED | unix.WNOWAIT | unix.WALL)
}

// EndedNow is NextEnded that does not wait: 0 when all children live.
func EndedNow() (pid int, err error) {
	return anyEnded(unix.WEXITED | unix.WNOWAIT | unix.WALL | unix.WNOHANG)
}

func anyEnded(options int) (int, error) {
	si, _, err := waitidRaw(unix.P_ALL, 0, options)
	return int(si.pid), err
}

// PeekPID looks at the ended child of that number and leaves it unreaped.
func PeekPID(pid int) (Exit, error) {
	e, _, err := waitid(unix.P_PID, pid, unix.WEXITED|unix.WNOWAIT|unix.WALL|unix.WNOHANG)
	return e, err
}

// ChildrenUsage is what all children that were reaped, and theirs, had used.
func ChildrenUsage() Rusage {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &ru) != nil {
		return Rusage{}
	}
	return rusageOf(&ru)
}

// Kill signals a process by its number, which the caller keeps taken by not
// reaping it.
func Kill(pid int, sig syscall.Signal) error { return unix.Kill(pid, sig) }

// Hurry takes every thread of this process to the front of the processor's
// queue, as far as this user may (setpriority).
func Hurry() {
	threads, err := readNames("/proc/self/task")
	if err != nil {
		return
	}
	for _, name := range threads {
		if tid, err := strconv.Atoi(name); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, -20) // Best effort: only root may.
		}
	}
	// Where sessions share the processor (CONFIG_SCHED_AUTOGROUP) the above
	// counts within ours alone.
	if fd, err := open("/proc/self/autogroup", unix.O_WRONLY); err == nil {
		_, _ = unix.Write(fd, []byte("-20"))
		unix.Close(fd)
	}
}

// Pause blocks the calling thread, and needs no other, for that long.
func Pause(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // a signal ends it early
}

// WaitReadable blocks the calling thread until one of the descriptors is
// readable or at its end.
func WaitReadable(fds ...int) error {
	_, err := WaitReadableFor(-1, fds...)
	return err
}

// WaitReadableFor is WaitReadable for about ms milliseconds, negative is for
// ever. False: the time is over.
func WaitReadableFor(ms int, fds ...int) (bool, error) {
	p := make([]unix.PollFd, len(fds))
	for i, fd := range fds {
		p[i] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	}
	n, err := eintr(func() (int, error) { return unix.Poll(p, ms) })
	return n > 0, err
}

// HungUp tells whether the other side of a socket is closed.
func HungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd)}}
	n, err := eintr(func() (int, error) { return unix.Poll(p, 0) })
	return err == nil && n == 1 && p[0].Revents&unix.POLLHUP != 0
}

// WaitEnd blocks the calling thread until the other side of a socket is closed,
// whatever waits in it, or another descriptor is readable or at its end.
func WaitEnd(socket int, fds ...int) error {
	p := []unix.PollFd{{Fd: int32(socket)}}
	for _, fd := range fds {
		p = append(p, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	_, err := unix.Poll(p, -1)
	if err == unix.EINTR {
		return nil
	}
	return err
}
