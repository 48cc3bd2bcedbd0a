package linux

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pidfsMagic is the file system magic of pidfs (6.9). Before it a pidfd is an
// anonymous inode, whose number says nothing.
const pidfsMagic = 0x50494446

// PidfdOpen refers to a process by descriptor (5.3), close-on-exec. Only an
// unreaped child, or a start time compared afterwards, makes sure which one.
func PidfdOpen(pid int) (int, error) {
	return eintr(func() (int, error) { return unix.PidfdOpen(pid, 0) })
}

// PidfdSignal signals the process behind a pidfd (5.1); ESRCH once it was
// reaped.
func PidfdSignal(fd int, sig syscall.Signal) error {
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// PidfdSignalGroup signals the process group whose leader the pidfd refers to,
// even after the leader was reaped (6.9; EINVAL before). Signal 0 tells whether
// the group has a process left, zombies included; ESRCH when not.
func PidfdSignalGroup(fd int, sig syscall.Signal) error {
	return unix.PidfdSendSignal(fd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
}

// PidfdUnique is the pidfs inode of a process, which is used for no other
// until reboot (6.9, and only where an inode number has 64 bits); 0 elsewhere.
func PidfdUnique(fd int) uint64 {
	if !wordIs64 || !hasPidfs.get() {
		return 0
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Ino
}

// hasPidfs tells whether a pidfd has an inode of its own.
var hasPidfs = fact[bool]{ask: func() (bool, error) {
	fd, err := PidfdOpen(os.Getpid())
	if err != nil {
		return settled(false, err)
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	err = unix.Fstatfs(fd, &fs)
	return settled(err == nil && int64(fs.Type) == pidfsMagic, err)
}}

// PidfdPID is the number, in the pid namespace of /proc, of the process behind
// a pidfd (5.2; fdinfo). ESRCH once it was reaped, or where it has no number.
func PidfdPID(fd int) (int, error) {
	pid, err := pidOf("self", fd)
	if err == nil && pid <= 0 {
		err = unix.ESRCH
	}
	return pid, err
}

// HoldsGone tells whether another process's descriptor is a pidfd of a process
// that was reaped.
func HoldsGone(pid, fd int) bool {
	of, err := pidOf(strconv.Itoa(pid), fd)
	return err == nil && of == -1
}

// pidOf is what fdinfo tells of a pidfd: -1 of a process that was reaped.
func pidOf(holder string, fd int) (int, error) {
	b, err := readSmall("/proc/" + holder + "/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(rest)))
		}
	}
	return 0, unix.ESRCH
}

// CloseFD closes a raw descriptor.
func CloseFD(fd int) { _ = unix.Close(fd) }

// PidfdExited looks whether the process behind a pidfd, every thread of it,
// has ended. It need not be a child.
func PidfdExited(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := eintr(func() (int, error) { return unix.Poll(p, 0) })
	return err == nil && n == 1 && p[0].Revents&unix.POLLIN != 0
}

// HasPidfdGroups tells whether PidfdSignalGroup works on this kernel.
func HasPidfdGroups() bool { return hasPidfdGroups.get() }

var hasPidfdGroups = fact[bool]{ask: func() (bool, error) {
	fd, err := PidfdOpen(os.Getpid())
	if err != nil {
		return settled(false, err)
	}
	defer unix.Close(fd)
	// Signal 0 to the group that this process leads, or to none: old kernels
	// refuse the flag before they look.
	err = PidfdSignalGroup(fd, 0)
	if err == nil || err == unix.ESRCH || err == unix.EPERM {
		return true, nil
	}
	return settled(false, err)
}}
