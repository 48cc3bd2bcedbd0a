package linux

import (
	"os"

	"golang.org/x/sys/unix"
)

// eintr repeats a call that a signal interrupted.
func eintr[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if err != unix.EINTR {
			return v, err
		}
	}
}

// open opens close-on-exec.
func open(path string, flags int) (int, error) {
	dir, name := place(path)
	return openAt(dir, name, path, flags)
}

// openAt opens by name in an open directory, close-on-exec; path is for the
// error.
func openAt(dir int, name, path string, flags int) (int, error) {
	fd, err := eintr(func() (int, error) { return unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0) })
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}
