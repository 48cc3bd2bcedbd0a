package linux

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// FileWatch tells that a file changed (inotify). It waits in the runtime's
// poller and holds no thread.
type FileWatch struct{ f *os.File }

// WatchFile begins to watch the file at path, links followed: writes to it, and
// changes of its size.
func WatchFile(path string) (*FileWatch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY); err != nil {
		unix.Close(fd)
		return nil, &os.PathError{Op: "watch", Path: path, Err: err}
	}
	return &FileWatch{os.NewFile(uintptr(fd), "inotify")}, nil
}

// Next waits for the next change since the last answer; changes meanwhile are
// one. The error wraps os.ErrClosed after Close.
func (w *FileWatch) Next() error {
	var events [4096]byte
	if _, err := w.f.Read(events[:]); err != nil {
		return fmt.Errorf("wait for a change: %w", err)
	}
	return nil
}

// Close ends a Next.
func (w *FileWatch) Close() error { return w.f.Close() }
