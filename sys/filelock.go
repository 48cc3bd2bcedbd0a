package sys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// ErrLockReplaced is returned by CreateLock when somebody removed the new file
// before it was locked. Another name may be tried.
var ErrLockReplaced = errors.New("the lock file was removed before it was locked")

// FileLock is an open file whose lock tells that a process lives: the kernel
// gives the lock back when the process ends, however it ends. It is an advisory
// lock of the whole file (flock), on Windows of one byte far beyond any content.
type FileLock struct {
	f    *os.File
	self os.FileInfo // of f, when it was opened: which file that is does not change
}

// CreateLock makes the file at path, which must not be there (fs.ErrExist), and
// holds it exclusively. The file is the owner's alone.
func CreateLock(path string) (*FileLock, error) {
	f, err := createShared(path)
	if err != nil {
		return nil, err
	}
	l, err := newFileLock(f)
	if err != nil {
		return nil, err
	}
	held, err := lockFile(f, true, false)
	if err == nil && (!held || !l.AtPath(path)) {
		err = fmt.Errorf("lock %s: %w", path, ErrLockReplaced)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// OpenLock opens a lock file, as OpenShared does, without locking it.
func OpenLock(path string) (*FileLock, error) {
	f, err := OpenShared(path)
	if err != nil {
		return nil, err
	}
	return newFileLock(f)
}

// newFileLock takes f over; on an error it is closed.
func newFileLock(f *os.File) (*FileLock, error) {
	self, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &FileLock{f, self}, nil
}

// OpenShared opens a regular file for reading that others may remove meanwhile,
// on every system. It follows no link and never waits for the other end of what
// is no regular file, which it refuses.
func OpenShared(path string) (*os.File, error) {
	f, err := openShared(path)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadShared reads a small file, opened by OpenShared, up to so many bytes: what
// somebody has put in its place may be of any length.
func ReadShared(path string, most int64) ([]byte, error) {
	f, err := OpenShared(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// TryShared asks for the lock beside others that share it, and does not wait.
// False: somebody holds it exclusively. Two askers never disturb each other.
func (l *FileLock) TryShared() (bool, error) { return lockFile(l.f, false, false) }

// WaitShared waits for the lock beside others that share it. It holds a thread
// and ends with the exclusive holder alone; closing the file does not end it.
func (l *FileLock) WaitShared() error {
	_, err := lockFile(l.f, false, true)
	return err
}

// AtPath reports whether path still names this file.
func (l *FileLock) AtPath(path string) bool {
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(l.self, there)
}

// Close gives the lock back. The file stays.
func (l *FileLock) Close() error { return l.f.Close() }

// lockPatience is how long a lock that is taken is tried again, every
// lockPause: one that merely asks whether it is free has it for a moment.
const (
	lockPatience = 200 * time.Millisecond
	lockPause    = 10 * time.Millisecond
)

// TryLockFile takes the exclusive lock of an open file and does not wait for its
// holder, but for a moment for those who only ask. False: somebody else holds
// it. It is given back when the file is closed. Readers and writers that do not
// ask for the lock are not kept out.
func TryLockFile(f *os.File) (bool, error) {
	for tries := lockPatience / lockPause; ; tries-- {
		held, err := lockFile(f, true, false)
		if held || err != nil || tries == 0 {
			return held, err
		}
		<-time.After(lockPause)
	}
}
