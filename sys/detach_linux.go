package sys

import (
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// inherited reports whether a descriptor came through an exec.
func inherited(fd int) bool { return linux.Inheritable(fd) }

func redirect(from, to int) error { return syscall.Dup3(from, to, 0) }
