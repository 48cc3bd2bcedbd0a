package sys

import "syscall"

// The system's own numbers: what package syscall calls ECONNREFUSED, ECONNRESET
// and EPIPE here are inventions that no call gives.
const (
	errRefused      = syscall.Errno(10061) // WSAECONNREFUSED
	errNetnameGone  = syscall.Errno(64)    // ERROR_NETNAME_DELETED
	errNotConnected = syscall.Errno(233)   // ERROR_PIPE_NOT_CONNECTED
	errAborted      = syscall.WSAECONNABORTED
	errReset        = syscall.WSAECONNRESET
)

var hangUps = []syscall.Errno{errReset, errAborted, errNetnameGone, errBrokenPipe, errNoData, errNotConnected}
