//go:build unix

package sys

import (
	"os"
	"syscall"
)

// openNull opens the device by hand: os.Open would offer it to the poller, which
// takes no device, and undo that again.
func openNull() (*os.File, error) {
	for {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
		}
		return os.NewFile(uintptr(fd), os.DevNull), nil
	}
}
