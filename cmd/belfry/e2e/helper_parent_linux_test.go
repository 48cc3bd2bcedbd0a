package e2e

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"
)

func init() { helpers["parent"] = parent }

// parent becomes another program the way a careless host starts its children:
// with every signal blocked, some ignored, and a pipe of its own at descriptor
// 7.
func parent(argv []string) int {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGUSR1)
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		return complain(err)
	}
	if err := syscall.Dup3(pipe[1], strayFD, 0); err != nil {
		return complain(err)
	}
	runtime.LockOSThread() // the mask is the thread's that calls exec
	all := ^uint64(0)
	const setMask = 2 // SIG_SETMASK
	if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&all)), 0, 8, 0, 0); e != 0 {
		return complain(e)
	}
	return complain(syscall.Exec(argv[0], argv, os.Environ()))
}

// strayFD is the descriptor that a careless host leaves open.
const strayFD = 7
