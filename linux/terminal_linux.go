package linux

import "golang.org/x/sys/unix"

// ForegroundGroup is the group that a terminal's keys reach (TIOCGPGRP). ENOTTY
// when the descriptor is no terminal, or not that of our session.
func ForegroundGroup(fd int) (int, error) {
	return eintr(func() (int, error) { return unix.IoctlGetInt(fd, unix.TIOCGPGRP) })
}

// SetForegroundGroup gives the terminal to a group of our session (TIOCSPGRP).
// From a group in the background the kernel sends SIGTTOU first, unless the
// caller ignores or blocks it.
func SetForegroundGroup(fd, pgrp int) error {
	_, err := eintr(func() (int, error) { return 0, unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, pgrp) })
	return err
}

// SessionOf is the session of a process, 0 for this one's.
func SessionOf(pid int) (int, error) { return unix.Getsid(pid) }
