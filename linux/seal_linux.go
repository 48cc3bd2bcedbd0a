package linux

import (
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// SealFrom marks every open descriptor from first up close-on-exec, by
// close_range (CLOEXEC flag: 5.11), else by a walk of /proc/self/fd.
func SealFrom(first int) error {
	if unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	return eachFD(first, unix.CloseOnExec)
}

// CloseFrom closes every open descriptor from first up, by close_range (5.9),
// else by a walk of /proc/self/fd.
func CloseFrom(first int) error {
	err := error(nil)
	if unix.CloseRange(uint(first), math.MaxUint32, 0) != nil {
		err = eachFD(first, func(fd int) { _ = unix.Close(fd) })
	}
	return err
}

func eachFD(first int, f func(int)) error {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range names {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			f(fd)
		}
	}
	return nil
}

// Inheritable reports whether a descriptor is open and not close-on-exec.
func Inheritable(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}
