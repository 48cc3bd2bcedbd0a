package windows

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	xwin "golang.org/x/sys/windows"
)

// Process is one process, named exactly by its handle: while that is open
// the number is not given out again. All methods are safe for concurrent use.
type Process struct {
	PID int
	// Birth is the creation time, 100 ns since 1601. With PID it is compared
	// for equality.
	Birth uint64

	mu sync.RWMutex
	h  xwin.Handle // 0 once closed
}

// ErrProcessGone: there is no such process, or it has ended.
var ErrProcessGone = errors.New("no such process")

// errProcessClosed wraps os.ErrClosed.
var errProcessClosed = fmt.Errorf("process: %w", os.ErrClosed)

// OpenProcess opens a live process for looking at it and waiting for it.
func OpenProcess(pid int) (*Process, error) {
	h, err := xwin.OpenProcess(xwin.PROCESS_QUERY_LIMITED_INFORMATION|xwin.SYNCHRONIZE, false, uint32(pid))
	switch {
	case errors.Is(err, xwin.ERROR_INVALID_PARAMETER):
		return nil, fmt.Errorf("open process %d: %w", pid, ErrProcessGone)
	case err != nil:
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	p, err := adopt(h, pid)
	if err != nil {
		return nil, err
	}
	// Of a number the system heeds all but the two lowest bits.
	if got, err := xwin.GetProcessId(h); err != nil || int(got) != pid || p.Ended() {
		p.Close()
		return nil, fmt.Errorf("open process %d: %w", pid, ErrProcessGone)
	}
	return p, nil
}

// adopt takes over a handle, also when it fails.
func adopt(h xwin.Handle, pid int) (*Process, error) {
	p := &Process{PID: pid, h: h}
	var created, ended, kernel, user xwin.Filetime
	if err := xwin.GetProcessTimes(h, &created, &ended, &kernel, &user); err != nil {
		p.Close()
		return nil, os.NewSyscallError("GetProcessTimes", err)
	}
	p.Birth = uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime)
	return p, nil
}

func (p *Process) with(f func(h xwin.Handle) error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.h == 0 {
		return errProcessClosed
	}
	return f(p.h)
}

// Ended tells whether the process has ended; false once closed.
func (p *Process) Ended() bool {
	ended := false
	// Best effort: a closed process is not known to have ended.
	_ = p.with(func(h xwin.Handle) error {
		event, err := xwin.WaitForSingleObject(h, 0)
		ended = event == xwin.WAIT_OBJECT_0
		return err
	})
	return ended
}

// ExitCode is valid once the process has ended.
func (p *Process) ExitCode() (uint32, error) {
	var code uint32
	err := p.with(func(h xwin.Handle) error {
		return os.NewSyscallError("GetExitCodeProcess", xwin.GetExitCodeProcess(h, &code))
	})
	return code, err
}

// Name is the file name of the program, without its directory.
func (p *Process) Name() (string, error) {
	var name string
	err := p.with(func(h xwin.Handle) error {
		buf := make([]uint16, 1024)
		for {
			n := uint32(len(buf))
			err := xwin.QueryFullProcessImageName(h, 0, &buf[0], &n)
			if errors.Is(err, xwin.ERROR_INSUFFICIENT_BUFFER) && len(buf) < 1<<15 {
				buf = make([]uint16, 1<<15)
				continue
			}
			if err != nil {
				return os.NewSyscallError("QueryFullProcessImageName", err)
			}
			name = xwin.UTF16ToString(buf[:n])
			return nil
		}
	})
	return name[strings.LastIndexByte(name, '\\')+1:], err
}

// Close closes the handle. It is idempotent.
func (p *Process) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.h == 0 {
		return nil
	}
	h := p.h
	p.h = 0
	return os.NewSyscallError("CloseHandle", xwin.CloseHandle(h))
}
