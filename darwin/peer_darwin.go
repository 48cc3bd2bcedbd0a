package darwin

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Peer reads who is at the other end of a Unix domain socket: the process on
// whose behalf it was connected (LOCAL_PEEREPID) and its user (LOCAL_PEERCRED).
func Peer(fd int) (pid, uid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, fmt.Errorf("read LOCAL_PEERCRED: %w", err)
	}
	pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEEREPID)
	if errors.Is(err, unix.ENOTCONN) {
		pid, err = 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read LOCAL_PEEREPID: %w", err)
	}
	return pid, int(cred.Uid), nil
}
