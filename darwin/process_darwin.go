package darwin

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Reaped is what wait4 collected.
type Reaped struct {
	Status unix.WaitStatus
	CPU    time.Duration // user and system time, waited-for children included
	MaxRSS int64         // bytes, of the largest process among them
}

// Reap collects a child that has ended. It blocks for the moment between the
// exit note and the zombie, so it must only follow such a note. The pid may be
// given out again from then on.
func Reap(pid int) (Reaped, error) {
	var ws unix.WaitStatus
	var ru unix.Rusage
	for {
		_, err := unix.Wait4(pid, &ws, 0, &ru)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Reaped{}, fmt.Errorf("reap %d: %w", pid, err)
		}
		return Reaped{
			Status: ws,
			CPU:    time.Duration(ru.Utime.Nano() + ru.Stime.Nano()),
			MaxRSS: ru.Maxrss, // bytes on macOS, not kilobytes
		}, nil
	}
}

// Kill sends a signal to one process. It is exact only while the number is
// pinned: by an unreaped child, or by nothing but luck.
func Kill(pid int, sig syscall.Signal) error { return unix.Kill(pid, sig) }

// KillGroup sends a signal to every member of a process group.
func KillGroup(pgid int, sig syscall.Signal) error { return unix.Kill(-pgid, sig) }
