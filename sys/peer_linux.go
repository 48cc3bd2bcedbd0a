package sys

import "syscall"

// peerOf reads SO_PEERCRED: who connected, or who listened, at that moment. The
// number is translated into this process's pid namespace and 0 outside it.
func peerOf(fd int) (pid, uid int, err error) {
	c, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(c.Pid), int(c.Uid), nil
}
