package linux

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// ReadIO is what a live process and the children it waited for have moved from
// and to storage, in bytes.
func ReadIO(pid int) (read, written int64, err error) {
	path := "/proc/" + strconv.Itoa(pid) + "/io"
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(fd)
	var room [512]byte // seven numbers and their names
	b, err := readOnce(fd, path, room[:])
	if err != nil {
		return 0, 0, err
	}
	r, ok := FlatValue(b, "read_bytes:")
	w, also := FlatValue(b, "write_bytes:")
	if !ok || !also {
		return 0, 0, fmt.Errorf("%s lacks read_bytes or write_bytes: %q: %w", path, b, errors.ErrUnsupported)
	}
	return int64(r), int64(w), nil
}

// ReadPeakMemory is the largest resident size that a live process had, bytes; 0
// for a zombie, which has no memory any more.
func ReadPeakMemory(pid int) (int64, error) {
	b, err := readSmall("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	n, _ := StatusBytes(b, "VmHWM")
	return n, nil
}

// OwnPeakMemory is the largest resident size that this process had, bytes.
func OwnPeakMemory() int64 {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return int64(ru.Maxrss) * 1024
}

// KernelRelease is the kernel's release text, as uname -r prints it.
func KernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
