package darwin

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The decoder reads bytes at fixed offsets; here the compiler proves them
// against the structure of x/sys for the architecture being built. Each line is
// a constant index that is only in range when the two numbers are equal.
var (
	layout unix.KinfoProc

	_ = [1]struct{}{}[unsafe.Sizeof(layout)-KinfoSize]
	_ = [1]struct{}{}[unsafe.Offsetof(layout.Proc.P_starttime)-offStartSec]
	_ = [1]struct{}{}[unsafe.Offsetof(layout.Proc.P_starttime.Usec)-offStartUsec]
	_ = [1]struct{}{}[unsafe.Offsetof(layout.Proc.P_stat)-offStat]
	_ = [1]struct{}{}[unsafe.Offsetof(layout.Proc.P_pid)-offPID]
	_ = [1]struct{}{}[unsafe.Offsetof(layout.Proc.P_comm)-offComm]
	_ = [1]struct{}{}[unsafe.Sizeof(layout.Proc.P_comm)-commSize]
	_ = [1]struct{}{}[unsafe.Offsetof(layout.Proc.P_xstat)-offXstat]
	_ = [1]struct{}{}[unsafe.Offsetof(layout.Eproc)+unsafe.Offsetof(layout.Eproc.Ppid)-offPPID]
	_ = [1]struct{}{}[unsafe.Offsetof(layout.Eproc)+unsafe.Offsetof(layout.Eproc.Pgid)-offPGID]
)
