package linux

import (
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"
)

const (
	// MaxArgument is the longest single argument or variable that execve takes
	// (MAX_ARG_STRLEN, 32 pages), its end included; bytes.
	MaxArgument = 32 * 4096
	// PointerSize is what each argument costs beside its bytes.
	PointerSize = bits.UintSize / 8
)

// ArgumentSpace is how much execve takes for arguments and environment
// together: a quarter of the stack limit, at least 128 KiB and at most 6 MiB
// (exec.c, since 4.13).
func ArgumentSpace() uint64 {
	const least, most = MaxArgument, 6 << 20
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_STACK, &r) != nil {
		return least
	}
	return min(max(uint64(r.Cur)/4, least), most)
}

// FileLimit is how many descriptors this process may have.
func FileLimit() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return uint64(r.Cur)
}

// ProcessLimits names what may refuse a new process, for an error's text.
func ProcessLimits() string {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &r) != nil || r.Cur == unix.RLIM_INFINITY {
		return "a control group's pids.max or the system's limit is reached"
	}
	return fmt.Sprintf("the user's limit of %d processes (ulimit -u), a control group's pids.max or the system's limit is reached", r.Cur)
}
