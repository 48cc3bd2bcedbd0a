package darwin

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// SealFrom marks every open descriptor from first up close-on-exec. Best
// effort: a descriptor that another thread closes meanwhile is skipped.
func SealFrom(first int) error {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// fionread is _IOR('f', 127, int) of <sys/filio.h>.
const fionread = 0x4004667f

// PipeBuffered is the number of bytes that wait in a pipe (FIONREAD).
func PipeBuffered(fd int) (int, error) { return unix.IoctlGetInt(fd, fionread) }

// Inheritable reports whether a descriptor is open and not close-on-exec.
func Inheritable(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}
