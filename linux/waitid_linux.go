package linux

import (
	"math/bits"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const wordIs64 = bits.UintSize == 64

// Exit is how a child ended and what it had used by then.
type Exit struct {
	Code   int            // exit status; meaningful when Signal is 0
	Signal syscall.Signal // terminating signal, or 0
	Core   bool           // a core was dumped
	Usage  Rusage
}

// Rusage is a child's own use together with that of the children it waited for.
type Rusage struct {
	CPU    time.Duration // user and system
	MaxRSS int64         // bytes, of the largest single process
	// Read and Written are bytes from and to storage, in whole sectors; -1 where
	// the kernel does not count them (CONFIG_TASK_IO_ACCOUNTING).
	Read, Written int64
}

// The values of si_code for SIGCHLD (asm-generic/siginfo.h).
const (
	cldExited = 1
	cldKilled = 2
	cldDumped = 3
)

// WaitPeek looks whether the child behind a pidfd has ended (waitid P_PIDFD,
// 5.4) and leaves it unreaped, so that its number stays taken. False: it runs.
func WaitPeek(pidfd int) (Exit, bool, error) {
	return waitid(unix.P_PIDFD, pidfd, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG)
}

// Reap collects the ended child behind a pidfd. False: it still runs.
func Reap(pidfd int) (Exit, bool, error) {
	return waitid(unix.P_PIDFD, pidfd, unix.WEXITED|unix.WNOHANG)
}

// ReapPID waits for a child by its number and collects it.
func ReapPID(pid int) (Exit, error) {
	e, _, err := waitid(unix.P_PID, pid, unix.WEXITED|unix.WALL)
	return e, err
}

// siginfo is the head of the kernel's siginfo_t for SIGCHLD. The union after
// the three integers is aligned to a word, so it starts at 16 on 64 bit and at
// 12 on 32 bit.
type siginfo struct {
	signo, errno, code int32
	_                  [wordPad]int32
	pid                int32
	uid                uint32
	status             int32
	_                  [128 - 24 - 4*wordPad]byte
}

const wordPad = bits.UintSize/32 - 1

var _ [128]byte = [unsafe.Sizeof(siginfo{})]byte{}

func waitid(kind, id, options int) (Exit, bool, error) {
	si, ru, err := waitidRaw(kind, id, options)
	if err != nil || si.pid == 0 {
		return Exit{}, false, err
	}
	if options&unix.WNOWAIT == 0 {
		noteReaped(int(si.pid))
	}
	e := Exit{Usage: rusageOf(&ru)}
	switch si.code {
	case cldKilled, cldDumped:
		e.Signal = syscall.Signal(si.status)
		e.Core = si.code == cldDumped
	default:
		e.Code = int(si.status)
	}
	return e, true, nil
}

func waitidRaw(kind, id, options int) (si siginfo, ru unix.Rusage, err error) {
	for {
		err = unix.Waitid(kind, id, (*unix.Siginfo)(unsafe.Pointer(&si)), options, &ru)
		if err != unix.EINTR {
			return si, ru, err
		}
	}
}

func rusageOf(ru *unix.Rusage) Rusage {
	u := Rusage{CPU: time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), MaxRSS: int64(ru.Maxrss) * 1024, Read: -1, Written: -1}
	if countsIO.get() {
		u.Read, u.Written = int64(ru.Inblock)*sector, int64(ru.Oublock)*sector
	}
	return u
}

// sector is the unit of rusage's blocks on Linux.
const sector = 512

// countsIO tells whether this kernel counts what processes move from and to
// storage.
var countsIO = fact[bool]{ask: func() (bool, error) {
	_, _, err := ReadIO(os.Getpid())
	return settled(err == nil, err)
}}
