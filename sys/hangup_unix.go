//go:build unix

package sys

import "syscall"

const errRefused = syscall.ECONNREFUSED

var hangUps = []syscall.Errno{syscall.ECONNRESET, syscall.EPIPE}
