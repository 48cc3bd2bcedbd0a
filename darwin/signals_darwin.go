package darwin

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sysPthreadSigmask is __pthread_sigmask(2), <sys/syscall.h>.
const sysPthreadSigmask = 329

// LockToCleanThread locks the goroutine to its thread and empties the thread's
// signal mask, which children started from it inherit: a mask that was blocked
// in our own parent must not reach a job. Best effort: on an error the mask
// stays as it was.
func LockToCleanThread() {
	runtime.LockOSThread()
	const setMask = 3 // SIG_SETMASK, <sys/signal.h>
	var empty uint32
	_, _, _ = syscall.Syscall(sysPthreadSigmask, setMask, uintptr(unsafe.Pointer(&empty)), 0)
}

// ignoredByDefault are the signals that the kernel lists as ignored in every
// process that does not catch them (SA_IGNORE, bsd/sys/signalvar.h).
var ignoredByDefault = []unix.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGIO, unix.SIGWINCH, unix.SIGINFO}

// TakeIgnoredSignals makes signals that this process was started to ignore
// (nohup, a shell's background job) into ones that it catches and drops. For
// this process that is the same; but a caught signal is back to its default in
// a child, where an ignored one stays ignored for good.
func TakeIgnoredSignals() error {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getpid())
	if err != nil {
		return fmt.Errorf("read ignored signals: %w", err)
	}
	mask := k.Proc.P_sigignore // bit n-1 is signal n
	for _, sig := range ignoredByDefault {
		mask &^= 1 << (sig - 1)
	}
	dropped := make(chan os.Signal, 1)
	for n := 1; n <= 31; n++ {
		if mask&(1<<(n-1)) != 0 {
			signal.Notify(dropped, syscall.Signal(n))
		}
	}
	return nil
}
