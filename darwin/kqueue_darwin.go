package darwin

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// ExitNote is the kernel's note that a process ended. The process is not
// reaped by it, and may become a zombie only a moment later: a wait4 that
// follows must be allowed to block.
type ExitNote struct {
	// WaitStatus is the status as wait4 would give it; valid when Known.
	WaitStatus uint32
	Known      bool
}

// Watcher tells when processes end. All watches share one kqueue and one
// thread, which blocks in kevent.
type Watcher struct {
	kq   int
	done chan struct{} // closed when the loop has returned

	mu      sync.Mutex
	closed  bool
	watches map[int][]func(ExitNote)
}

// ErrWatcherClosed is returned by a watch that is asked for after Close.
var ErrWatcherClosed = errors.New("exit watcher is closed")

// NewWatcher opens a kqueue and starts its loop.
func NewWatcher() (*Watcher, error) {
	kq, err := unix.Kqueue()
	if err != nil {
		return nil, fmt.Errorf("open kqueue: %w", err)
	}
	unix.CloseOnExec(kq)
	// Ident 0 of EVFILT_USER is the bell that ends the loop.
	bell := unix.Kevent_t{Filter: unix.EVFILT_USER, Flags: unix.EV_ADD | unix.EV_CLEAR}
	if err := change(kq, bell); err != nil {
		unix.Close(kq)
		return nil, fmt.Errorf("register user event: %w", err)
	}
	w := &Watcher{kq: kq, done: make(chan struct{}), watches: make(map[int][]func(ExitNote))}
	go w.loop()
	return w, nil
}

// Exit calls f once when the process ends, on the watcher's own goroutine: f
// must not block and must not call the watcher. It is exact for a child that
// was not reaped; for any other process the number may meanwhile belong to
// somebody else, so a caller compares its identity after this returned. gone: it
// has ended already, or is ending, and f is not called.
func (w *Watcher) Exit(pid int, f func(ExitNote)) (gone bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false, ErrWatcherClosed
	}
	ev := unix.Kevent_t{
		Ident:  uint64(pid),
		Filter: unix.EVFILT_PROC,
		Flags:  unix.EV_ADD | unix.EV_ONESHOT,
		Fflags: unix.NOTE_EXIT | unix.NOTE_EXITSTATUS,
	}
	err = change(w.kq, ev)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		// The status is told to the parent, and by newer kernels to who may kill
		// the process; the end itself to anybody.
		ev.Fflags = unix.NOTE_EXIT
		err = change(w.kq, ev)
	}
	switch {
	case errors.Is(err, unix.ESRCH):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("watch process %d: %w", pid, err)
	}
	// The loop looks f up under the same lock, so an event that is already on
	// its way finds it.
	w.watches[pid] = append(w.watches[pid], f)
	return false, nil
}

// Close ends the loop and waits for it. What is still watched stays silent.
func (w *Watcher) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		<-w.done
		return nil
	}
	w.closed = true
	err := change(w.kq, unix.Kevent_t{Filter: unix.EVFILT_USER, Fflags: unix.NOTE_TRIGGER})
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("end exit watcher: %w", err)
	}
	<-w.done
	return unix.Close(w.kq)
}

func (w *Watcher) loop() {
	defer close(w.done)
	events := make([]unix.Kevent_t, 32)
	for {
		n, err := unix.Kevent(w.kq, nil, events, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return // only a closed or invalid descriptor ends up here
		}
		for _, ev := range events[:n] {
			if ev.Filter == unix.EVFILT_USER {
				return
			}
			w.deliver(ev)
		}
	}
}

func (w *Watcher) deliver(ev unix.Kevent_t) {
	note := ExitNote{
		WaitStatus: uint32(ev.Data) & 0xFFFF,
		Known:      ev.Fflags&unix.NOTE_EXITSTATUS != 0,
	}
	pid := int(ev.Ident)
	w.mu.Lock()
	watches := w.watches[pid]
	delete(w.watches, pid)
	w.mu.Unlock()
	for _, f := range watches {
		f(note)
	}
}

// change applies one change and waits for no event.
func change(kq int, ev unix.Kevent_t) error {
	for {
		_, err := unix.Kevent(kq, []unix.Kevent_t{ev}, nil, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
