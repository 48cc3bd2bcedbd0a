package linux

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ReadStat reads a process's stat under a proc root ("/proc"). A process that
// is gone gives an error that wraps ErrNotExist or ESRCH.
func ReadStat(root string, pid int) (Stat, error) {
	h, err := openStat(root, pid)
	if err != nil {
		return Stat{}, err
	}
	defer h.Close()
	return h.Read()
}

// HeldStat is the stat of one process, held open: to read it again takes no walk
// through /proc, and it never is that of another with the same number.
type HeldStat struct {
	fd   int
	path string
}

func openStat(root string, pid int) (*HeldStat, error) {
	path := root + "/" + strconv.Itoa(pid) + "/stat"
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &HeldStat{fd, path}, nil
}

// HoldStat opens the stat of the process that has this number and start time,
// ESRCH when there is none. Close gives it back.
func HoldStat(pid int, start uint64) (*HeldStat, error) {
	h, err := openStat("/proc", pid)
	if err != nil {
		return nil, err
	}
	st, err := h.Read()
	if err == nil && st.Start != start {
		err = unix.ESRCH
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Read reads it as it is now. That of a process that was reaped gives an error
// that wraps ESRCH.
func (h *HeldStat) Read() (Stat, error) {
	room := statRooms.Get().(*[1024]byte)
	defer statRooms.Put(room)
	b, err := readOnce(h.fd, h.path, room[:])
	if err != nil {
		return Stat{}, err
	}
	return ParseStat(b)
}

// Close gives the descriptor back; nothing may be reading.
func (h *HeldStat) Close() { unix.Close(h.fd) }

// readOnce reads, from its start, a file that the kernel makes as a whole
// (single_open) and that fits: what it gives is all there is.
func readOnce(fd int, path string, b []byte) ([]byte, error) {
	n, err := eintr(func() (int, error) { return unix.Pread(fd, b, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return b[:n], nil
}

// statRooms are what stat lines are read into: each has 52 numbers, and is
// shorter than this in practice.
var statRooms = sync.Pool{New: func() any { return new([1024]byte) }}

// readSmall reads a small file of a kernel file system with one open and, as a
// rule, one read: no stat, no poller, unlike os.ReadFile.
func readSmall(path string) ([]byte, error) {
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readAll(fd, path, make([]byte, 0, 1024))
}

// readAll reads to the end, into b as far as there is room.
func readAll(fd int, path string, b []byte) ([]byte, error) {
	for {
		n, err := eintr(func() (int, error) { return unix.Read(fd, b[len(b):cap(b)]) })
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return b, nil
		}
		b = b[:len(b)+n]
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

// EachStat calls f for every process under a proc root. Processes that end
// meanwhile are left out.
func EachStat(root string, f func(Stat)) error {
	pids, err := processesOf(root)
	for _, pid := range pids {
		if st, err := ReadStat(root, pid); err == nil {
			f(st)
		}
	}
	return err
}

// Processes lists the numbers of all processes, in order.
func Processes() ([]int, error) { return processesOf("/proc") }

func processesOf(root string) ([]int, error) {
	names, err := readNames(root)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// MaxPID is the number below which all processes have theirs; 32768, which is the
// least that is usual, where /proc hides it.
func MaxPID() int { return maxPID.get() }

var maxPID = fact[int]{ask: func() (int, error) {
	b, err := readSmall("/proc/sys/kernel/pid_max")
	if err != nil {
		return settled(leastMaxPID, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		n = leastMaxPID
	}
	return n, err
}}

const leastMaxPID = 32768

// GroupOf is the process group and the session of a process, 0 when it is gone.
func GroupOf(pid int) (pgrp, session int) {
	pgrp, err := unix.Getpgid(pid)
	if err != nil {
		return 0, 0
	}
	if session, err = unix.Getsid(pid); err != nil {
		return 0, 0
	}
	return pgrp, session
}

// BootID is the kernel's random id of this boot, "" where /proc hides it.
func BootID() string { return bootID.get() }

var bootID = fact[string]{ask: func() (string, error) {
	b, err := readSmall("/proc/sys/kernel/random/boot_id")
	return settled(strings.TrimSpace(string(b)), err)
}}
