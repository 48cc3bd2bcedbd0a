package sys

import (
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// pipePair makes a pipe that no child inherits.
func pipePair() (r, w int, err error) {
	var p [2]int
	err = syscall.Pipe2(p[:], syscall.O_CLOEXEC)
	return p[0], p[1], err
}

func pipeBuffered(fd int) (int, error) { return linux.PipeBuffered(fd) }

// An unprivileged user's total is limited, as is the size of one: less is tried
// then, and the pipe works as it is.
func pipeGrow(fd, bytes int) int {
	const made = 64 << 10 // the size that a pipe has anyway
	for ; bytes > made; bytes /= 2 {
		if n, err := linux.PipeGrow(fd, bytes); err == nil {
			return n
		}
	}
	n, err := linux.PipeSize(fd)
	if err != nil {
		return 0
	}
	return n
}
