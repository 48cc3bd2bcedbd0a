package linux

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// KillGroup signals a process group by its number, which the caller keeps
// taken by not reaping its leader.
func KillGroup(pgid int, sig syscall.Signal) error { return unix.Kill(-pgid, sig) }

// SignalProcess signals the process that has this number and start time, or
// nobody: it opens a pidfd, compares the start time behind it, and only then
// signals. ESRCH when that process is gone.
func SignalProcess(pid int, start uint64, sig syscall.Signal) error {
	fd, err := OpenProcess(pid, start)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return PidfdSignal(fd, sig)
}

// OpenProcess gives a pidfd of the process that has this number and start time.
func OpenProcess(pid int, start uint64) (int, error) {
	fd, err := PidfdOpen(pid)
	if err != nil {
		return -1, err
	}
	// Read after the open: had the number been given away before it, the start
	// time would be another.
	st, err := ReadStat("/proc", pid)
	if err != nil || st.Start != start {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}
