//go:build !linux && !darwin && !windows

package sys

import (
	"errors"
	"syscall"
)

// identifyLive finds out whether the process runs and not since when: a number
// alone is compared as Unknown, so nothing is ever signalled by it.
func identifyLive(pid int) (ID, error) {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return ID{}, ErrNoProcess
	}
	return ID{PID: pid}, nil
}
