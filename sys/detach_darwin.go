package sys

import (
	"syscall"

	"github.com/belfry-dev/belfry/darwin"
)

// inherited reports whether a descriptor came through an exec.
func inherited(fd int) bool { return darwin.Inheritable(fd) }

func redirect(from, to int) error { return syscall.Dup2(from, to) }
