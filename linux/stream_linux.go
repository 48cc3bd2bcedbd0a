package linux

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Stream reads a stream socket that waits for whoever else has it open, and which
// waits here in the runtime's poller all the same: none of its flags is changed.
// The poller is given an epoll that holds the socket alone (epoll in epoll, 2.6).
type Stream struct {
	socket *os.File
	raw    syscall.RawConn
	ready  *Pollable
}

// NewStream makes one of f, which stays open as long as it is read. It refuses what
// is no stream socket.
func NewStream(f *os.File) (*Stream, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var poll int
	cerr := raw.Control(func(fd uintptr) {
		var kind int
		if kind, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
			return
		}
		if kind != unix.SOCK_STREAM {
			err = unix.EPROTOTYPE
			return
		}
		if poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return
		}
		if err = unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
			unix.Close(poll)
		}
	})
	if cerr != nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("poll %s: %w", f.Name(), err)
	}
	ready, err := NewPollable(poll, "epoll of "+f.Name())
	if err != nil {
		return nil, err
	}
	return &Stream{f, raw, ready}, nil
}

// Read is that of the socket. Its error is os.ErrDeadlineExceeded after the deadline.
func (s *Stream) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	// Waited for is the epoll, and read the socket.
	werr := s.ready.Wait(func(int) bool {
		cerr := s.raw.Control(func(fd uintptr) {
			n, err = eintr(func() (int, error) {
				n, _, err := unix.Recvfrom(int(fd), b, unix.MSG_DONTWAIT)
				return n, err
			})
		})
		if cerr != nil {
			n, err = 0, cerr
		}
		return err != unix.EAGAIN
	})
	switch {
	case werr != nil:
		return 0, werr
	case err != nil:
		return 0, &os.PathError{Op: "read", Path: s.socket.Name(), Err: err}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// SetReadDeadline bounds Read; the zero time removes the bound.
func (s *Stream) SetReadDeadline(t time.Time) error { return s.ready.SetDeadline(t) }
