package linux

import "golang.org/x/sys/unix"

// PipeBuffered is the number of bytes that wait in a pipe (TIOCINQ is FIONREAD).
func PipeBuffered(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.TIOCINQ) }

// IsReadable tells whether a descriptor was opened for reading (F_GETFL).
func IsReadable(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE != unix.O_WRONLY
}

// PipeSize is a pipe's capacity in bytes (F_GETPIPE_SZ, 2.6.35).
func PipeSize(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0) }

// PipeGrow sets a pipe's capacity (F_SETPIPE_SZ, 2.6.35). The kernel rounds up
// to a power of two pages, which is what is given back, and answers EPERM above
// fs.pipe-max-size.
func PipeGrow(fd, bytes int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, bytes)
}
