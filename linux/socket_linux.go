package linux

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// SocketPair makes two connected sockets, close-on-exec, that keep the bounds
// of messages and tell the end of the other side.
func SocketPair() (a, b int, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, fmt.Errorf("socketpair: %w", err)
	}
	return p[0], p[1], nil
}

// Send sends one message, not empty, with copies of descriptors. EPIPE: the
// other side is gone.
func Send(fd int, b []byte, pass ...int) error {
	var oob []byte
	if len(pass) > 0 {
		oob = unix.UnixRights(pass...)
	}
	_, err := eintr(func() (int, error) { return unix.SendmsgN(fd, b, oob, nil, unix.MSG_NOSIGNAL) })
	return err
}

// Receive takes one message and the descriptors with it, close-on-exec, which
// the caller closes. io.EOF: the other side is gone; EAGAIN: none is there yet;
// EMFILE: the message is lost, for there was no room for its descriptors.
func Receive(fd int, b []byte) (n int, passed []int, err error) {
	var oob [64]byte // up to eight descriptors
	var oobn, flags int
	receive := func() (int, error) {
		var n int
		var err error
		n, oobn, flags, _, err = unix.Recvmsg(fd, b, oob[:], unix.MSG_CMSG_CLOEXEC)
		return n, err
	}
	n, err = eintr(receive)
	if err == unix.ECONNRESET {
		// It ended with a message of ours unread. The kernel tells that once, and
		// before what it had sent, which is still there.
		n, err = eintr(receive)
	}
	if err != nil {
		return 0, nil, err
	}
	if oobn > 0 {
		controls, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return n, nil, err
		}
		for _, c := range controls {
			fds, err := unix.ParseUnixRights(&c)
			if err == nil {
				passed = append(passed, fds...)
			}
		}
	}
	if flags&unix.MSG_CTRUNC != 0 {
		// The kernel drops what it cannot give a number.
		for _, fd := range passed {
			unix.Close(fd)
		}
		return 0, nil, unix.EMFILE
	}
	if n == 0 && len(passed) == 0 {
		return 0, nil, io.EOF
	}
	return n, passed, nil
}

// StopReading makes a socket end for its reader once what has come was read,
// whoever holds a copy of the other side.
func StopReading(fd int) { _ = unix.Shutdown(fd, unix.SHUT_RD) }

// HangUp tells the other side our end, and leaves the way back open.
func HangUp(fd int) { _ = unix.Shutdown(fd, unix.SHUT_WR) }
