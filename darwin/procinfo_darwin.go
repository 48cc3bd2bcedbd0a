package darwin

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers of proc_info(2), <sys/proc_info.h> and bsd/kern/proc_info.c.
const (
	sysProcInfo        = 336
	procInfoPIDInfo    = 2  // PROC_INFO_CALL_PIDINFO
	procInfoPIDRusage  = 9  // PROC_INFO_CALL_PIDRUSAGE
	flavorUnique       = 17 // PROC_PIDUNIQIDENTIFIERINFO
	flavorRusageInfoV4 = 4  // RUSAGE_INFO_V4
)

// ReadUnique reads the never reused identity of a process; a zombie that was not
// yet reaped answers too. It needs no privilege. An error, whatever it is, means
// to fall back to the start time.
func ReadUnique(pid int) (Unique, error) {
	const zombiesToo = 1
	var b [uniqueSize]byte
	n, _, errno := syscall.Syscall6(sysProcInfo, procInfoPIDInfo, uintptr(pid), flavorUnique, zombiesToo,
		uintptr(unsafe.Pointer(&b)), unsafe.Sizeof(b))
	if errno != 0 {
		return Unique{}, fmt.Errorf("read unique id of %d: %w", pid, errno)
	}
	return DecodeUnique(b[:min(int(n), len(b))])
}

// ReadRusage reads what a process of this user has used; a zombie that was not
// yet reaped answers too.
func ReadRusage(pid int) (Rusage, error) {
	perSecond, err := timeBase()
	if err != nil {
		return Rusage{}, err
	}
	// The kernel writes what the flavor is long and takes no length: the spare
	// room only guards against a flavor that grew.
	var b [4 * rusageSize]byte
	_, _, errno := syscall.Syscall6(sysProcInfo, procInfoPIDRusage, uintptr(pid), flavorRusageInfoV4, 0,
		uintptr(unsafe.Pointer(&b)), 0)
	if errno != 0 {
		return Rusage{}, fmt.Errorf("read usage of %d: %w", pid, errno)
	}
	return DecodeRusage(b[:], perSecond)
}

// timeBase is hw.tbfrequency: ticks of mach_absolute_time in a second.
func timeBase() (uint64, error) {
	if v := knownTimeBase.Load(); v != 0 {
		return v, nil
	}
	v, err := unix.SysctlUint64("hw.tbfrequency")
	if err != nil {
		return 0, fmt.Errorf("read hw.tbfrequency: %w", err)
	}
	knownTimeBase.Store(v)
	return v, nil
}

// knownTimeBase is 0 until it could be read: whatever hinders that may pass.
var knownTimeBase atomic.Uint64
