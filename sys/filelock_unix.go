//go:build unix

package sys

import (
	"errors"
	"os"
	"syscall"
)

// lockFlag opens a file for its lock alone. No link is followed, and for the other
// end of a FIFO that somebody put there nobody waits.
const lockFlag = os.O_RDONLY | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func createShared(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// openShared does not wait for the other end of a FIFO.
func openShared(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// lockFile locks the open file description: a descriptor that another process
// inherited would hold it too, and none of ours is inherited.
func lockFile(f *os.File, exclusive, wait bool) (bool, error) {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	if !wait {
		how |= syscall.LOCK_NB
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var lockErr error
	err = raw.Control(func(fd uintptr) {
		for {
			lockErr = syscall.Flock(int(fd), how)
			if lockErr != syscall.EINTR {
				return
			}
		}
	})
	switch {
	case err != nil:
		return false, err
	case errors.Is(lockErr, syscall.EWOULDBLOCK):
		return false, nil
	case lockErr != nil:
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: lockErr}
	}
	return true, nil
}
