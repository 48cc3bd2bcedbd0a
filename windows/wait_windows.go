package windows

import (
	"os"
	"sync"
	"syscall"
	"unsafe"

	xwin "golang.org/x/sys/windows"
)

var (
	procRegisterWait   = modkernel32.NewProc("RegisterWaitForSingleObject")
	procUnregisterWait = modkernel32.NewProc("UnregisterWaitEx")
)

// waits holds what the pool's callback calls, by token. It is one for the whole
// process because callbacks are: the runtime never frees one.
var waits struct {
	sync.Mutex
	next uintptr
	call map[uintptr]func()
}

// waitCallback is the WAITORTIMERCALLBACK of all waits.
var waitCallback = sync.OnceValue(func() uintptr {
	return syscall.NewCallback(func(token, _ uintptr) uintptr {
		waits.Lock()
		f := waits.call[token]
		delete(waits.call, token)
		waits.Unlock()
		if f != nil {
			f()
		}
		return 0
	})
})

// OnExit calls f once when the process has ended, on a thread of the system's
// pool, of which one serves 63 processes: no thread waits for one process. f
// must not block. The answer ends the wait and returns when f is not running
// any more; it must not be called from f.
func (p *Process) OnExit(f func()) (stop func(), err error) {
	waits.Lock()
	if waits.call == nil {
		waits.call = make(map[uintptr]func())
	}
	waits.next++
	token := waits.next
	waits.call[token] = f
	waits.Unlock()
	forget := func() {
		waits.Lock()
		delete(waits.call, token)
		waits.Unlock()
	}
	const onceInWaitThread = 0x8 | 0x4 // WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD
	var wait uintptr
	err = p.with(func(h xwin.Handle) error {
		r, _, err := procRegisterWait.Call(uintptr(unsafe.Pointer(&wait)), uintptr(h), waitCallback(), token,
			xwin.INFINITE, onceInWaitThread)
		if uint32(r) == 0 {
			return os.NewSyscallError("RegisterWaitForSingleObject", err)
		}
		return nil
	})
	if err != nil {
		forget()
		return nil, err
	}
	return sync.OnceFunc(func() {
		// INVALID_HANDLE_VALUE waits for a callback that is running.
		_, _, _ = procUnregisterWait.Call(wait, uintptr(xwin.InvalidHandle))
		forget()
	}), nil
}
