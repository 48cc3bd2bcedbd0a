package sys

import (
	"os"

	"github.com/belfry-dev/belfry/windows"
)

// lockFlag opens a file for its lock alone.
const lockFlag = os.O_RDONLY | os.O_CREATE

// The file may be removed while others have it open, as on the other systems.
func createShared(path string) (*os.File, error) { return sharedFile(path, true) }

func openShared(path string) (*os.File, error) { return sharedFile(path, false) }

func sharedFile(path string, create bool) (*os.File, error) {
	h, err := windows.OpenShared(path, create)
	if err != nil {
		return nil, err
	}
	return os.NewFile(h, path), nil
}

func lockFile(f *os.File, exclusive, wait bool) (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var held bool
	var lockErr error
	err = raw.Control(func(h uintptr) { held, lockErr = windows.LockByte(h, exclusive, wait) })
	if err == nil {
		err = lockErr
	}
	if err != nil {
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return held, nil
}
