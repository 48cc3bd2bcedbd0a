package linux

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Pollable is a descriptor that waits in the runtime's poller: a waiting
// goroutine holds no thread. It serves pidfds (5.3) and cgroup.events (5.2).
type Pollable struct {
	f   *os.File
	raw syscall.RawConn
}

// NewPollable takes over fd; on an error fd is closed.
func NewPollable(fd int, name string) (*Pollable, error) {
	// None of its flags but this can be set or lost: pidfds, sockets and the files
	// of kernel file systems have no O_APPEND or O_DIRECT that mattered.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("set %s non-blocking: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	// A file that the poller refused has no deadlines.
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		f.Close()
		return nil, fmt.Errorf("poll %s: %w", name, err)
	}
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Pollable{f: f, raw: raw}, nil
}

// Wait calls done at once and after every notice of the kernel until it says
// true. The error is os.ErrDeadlineExceeded, or another once it was closed.
func (p *Pollable) Wait(done func(fd int) bool) error {
	return p.raw.Read(func(fd uintptr) bool { return done(int(fd)) })
}

// SetDeadline bounds Wait; the zero time removes the bound.
func (p *Pollable) SetDeadline(t time.Time) error { return p.f.SetReadDeadline(t) }

// Use runs f with the descriptor, which stays open meanwhile.
func (p *Pollable) Use(f func(fd int)) error {
	return p.raw.Control(func(fd uintptr) { f(int(fd)) })
}

// Close ends a Wait and closes the descriptor.
func (p *Pollable) Close() error { return p.f.Close() }
