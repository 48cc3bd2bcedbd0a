package darwin

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// FileWatch tells that a file changed. A Next holds a thread.
type FileWatch struct {
	kq   int
	file *os.File
}

// WatchFile begins to watch the file at path, links followed: writes to it, and
// changes of its size.
func WatchFile(path string) (*FileWatch, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	kq, err := unix.Kqueue()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open kqueue: %w", err)
	}
	unix.CloseOnExec(kq)
	w := &FileWatch{kq, f}
	file := unix.Kevent_t{
		Ident:  uint64(f.Fd()),
		Filter: unix.EVFILT_VNODE,
		Flags:  unix.EV_ADD | unix.EV_CLEAR,
		Fflags: unix.NOTE_WRITE | unix.NOTE_EXTEND,
	}
	// Ident 0 of EVFILT_USER is the bell that ends a Next.
	bell := unix.Kevent_t{Filter: unix.EVFILT_USER, Flags: unix.EV_ADD}
	if err := errors.Join(change(kq, file), change(kq, bell)); err != nil {
		w.free()
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	return w, nil
}

// Next waits for the next change since the last answer; changes meanwhile are
// one. The error is os.ErrClosed after Close, and Next may not be called again.
func (w *FileWatch) Next() error {
	var events [1]unix.Kevent_t
	for {
		_, err := unix.Kevent(w.kq, nil, events[:], nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && events[0].Filter == unix.EVFILT_USER:
			err = os.ErrClosed
		}
		if err != nil {
			w.free()
			return fmt.Errorf("wait for a change: %w", err)
		}
		return nil
	}
}

// Close ends the Next that waits, which then frees what is held.
func (w *FileWatch) Close() error {
	return change(w.kq, unix.Kevent_t{Filter: unix.EVFILT_USER, Fflags: unix.NOTE_TRIGGER})
}

func (w *FileWatch) free() {
	unix.Close(w.kq)
	w.file.Close()
}
