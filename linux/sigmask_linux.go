package linux

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ClearSignalMask unblocks every signal on the calling thread, which the
// caller has locked. A mask that our own parent blocked would otherwise reach
// every child.
func ClearSignalMask() error {
	var empty unix.Sigset_t
	return unix.PthreadSigmask(unix.SIG_SETMASK, &empty, nil)
}

// SignalMaskIsClear tells whether the calling thread blocks no signal. Every
// thread of the Go runtime has the mask that this process was started with.
func SignalMaskIsClear() bool {
	var now unix.Sigset_t
	return unix.PthreadSigmask(unix.SIG_BLOCK, nil, &now) == nil && now == unix.Sigset_t{}
}

// TakeIgnoredSignals makes signals that this process was started to ignore
// (nohup, a shell's background job) into ones that it catches and drops. For
// this process that is the same; but a caught signal is back to its default in
// a child, where an ignored one stays ignored for good.
func TakeIgnoredSignals() error {
	dropped := make(chan os.Signal, 1)
	for n := 1; n <= lastSignal; n++ {
		yes, err := ignored(n)
		switch {
		case err != nil:
			return err
		case !yes:
		case n >= firstOwn && n <= lastOwn:
			if err := defaultAction(n); err != nil {
				return err
			}
		default:
			signal.Notify(dropped, syscall.Signal(n))
		}
	}
	return nil
}

// The signals that the C libraries keep for themselves (nptl(7), signal(7)).
// Go neither catches nor resets them, and a parent that was started with a
// foreign libc may have left them ignored.
const (
	firstOwn   = 32
	lastOwn    = 34
	lastSignal = 64
)

// defaultAction gives a signal its default action. The struct of the kernel is
// all zero then, whatever its layout.
func defaultAction(n int) error {
	var action [32]byte
	_, _, no := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&action)), 0, kernelSigset, 0, 0)
	if no != 0 {
		return fmt.Errorf("rt_sigaction of signal %d: %w", n, no)
	}
	return nil
}

// kernelSigset is the size of the kernel's signal set: 64 signals.
const kernelSigset = 8

// ignored tells whether a signal is ignored. The handler is the first word of
// the kernel's struct on every processor but MIPS; its value 1 is SIG_IGN.
func ignored(n int) (bool, error) {
	var action [8]uintptr
	_, _, no := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), 0, uintptr(unsafe.Pointer(&action)), kernelSigset, 0, 0)
	if no != 0 {
		return false, fmt.Errorf("rt_sigaction of signal %d: %w", n, no)
	}
	return action[0] == 1, nil
}
