//go:build unix

package sys

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func wouldBlock(err error) bool { return errors.Is(err, syscall.EAGAIN) }

// readerGone: EIO is a terminal's word for it, and another fault of a disk's.
func readerGone(f *os.File, err error) bool {
	if errors.Is(err, syscall.EIO) {
		fi, err := f.Stat()
		return err == nil && fi.Mode()&os.ModeCharDevice != 0
	}
	return errors.Is(err, syscall.EPIPE)
}

// polledCopy is another descriptor of the same open file, which must be one that
// does not wait: os.NewFile puts such a one into the runtime's poller.
func polledCopy(f *os.File) (*os.File, error) {
	fd, err := dupFile(f)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// dupFile is another descriptor of an open file, which no child inherits.
func dupFile(f *os.File) (fd int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, usable(f, err)
	}
	cerr := raw.Control(func(old uintptr) {
		syscall.ForkLock.RLock() // no child inherits it between the two calls
		defer syscall.ForkLock.RUnlock()
		if fd, err = syscall.Dup(int(old)); err == nil {
			syscall.CloseOnExec(fd)
		}
	})
	if err = errors.Join(usable(f, cerr), err); err != nil {
		return -1, fmt.Errorf("copy %s: %w", f.Name(), err)
	}
	return fd, nil
}
