package linux

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// Mark gives a process, 0 being this one, a number that all bear whom it starts
// from then on, whatever session, control group, parent or user they take: the
// soft limit of file locks (RLIMIT_LOCKS), which no kernel since 2.4.25 heeds.
// Who sets that limit has another number. The caller keeps pid taken.
func Mark(pid int, mark uint64) error {
	return unix.Prlimit(pid, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: mark, Max: unix.RLIM_INFINITY}, nil)
}

// MarkOf is the number that a process bears, 0 being this one; Unmarked for one
// that bears none. False: it is gone, or another user's, who may give it any.
func MarkOf(pid int) (mark uint64, ok bool) {
	var r unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &r)
	return r.Cur, err == nil
}

// Unmarked is what processes bear whom nobody has marked.
const Unmarked = unix.RLIM_INFINITY

// CanMark tells whether there is room for marks: not where a number has 32 bits
// or an administrator has bounded it.
func CanMark() bool {
	var r unix.Rlimit
	return wordIs64 && unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &r) == nil && r.Max == unix.RLIM_INFINITY
}

// Forks is how many processes and threads were started on this machine since its
// boot.
func Forks() (uint64, bool) {
	b, err := readSmall("/proc/stat")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(b) {
		if rest, found := bytes.CutPrefix(line, []byte("processes ")); found {
			n, err := strconv.ParseUint(string(bytes.TrimSpace(rest)), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// LastPID is the number that was given last in this pid namespace, to a process
// or a thread.
func LastPID() (int, bool) {
	var b [128]byte
	n, err := ReadAt(loadavg.get(), b[:], 0)
	if err != nil {
		return 0, false
	}
	f := bytes.Fields(b[:n])
	if len(f) < 5 {
		return 0, false
	}
	last, err := strconv.Atoi(string(f[4]))
	return last, err == nil
}

// loadavg stays open once it could be opened, since every job's start and end want
// it; -1: it cannot be had.
var loadavg = fact[int]{ask: func() (int, error) { return open("/proc/loadavg", unix.O_RDONLY) }}
