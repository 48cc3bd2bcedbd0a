package sys

import (
	"errors"
	"os"
	"syscall"
)

const (
	createNewProcessGroup  = 0x00000200
	detachedProcess        = 0x00000008
	createBreakawayFromJob = 0x01000000
)

// passOn gives the child's handle for f.
func passOn(attr *os.ProcAttr, f *os.File) uint64 {
	// Best effort: a handle that cannot be made inheritable makes the start fail.
	_ = syscall.SetHandleInformation(syscall.Handle(f.Fd()), syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT)
	attr.Sys = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{syscall.Handle(f.Fd())}}
	return uint64(f.Fd())
}

// startDetached leaves our job where that is allowed, and stays in it where not.
func startDetached(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	if attr.Sys == nil {
		attr.Sys = &syscall.SysProcAttr{}
	}
	attr.Sys.CreationFlags = createNewProcessGroup | detachedProcess | createBreakawayFromJob
	p, err := os.StartProcess(path, argv, attr)
	if errors.Is(err, syscall.ERROR_ACCESS_DENIED) {
		attr.Sys.CreationFlags &^= createBreakawayFromJob
		p, err = os.StartProcess(path, argv, attr)
	}
	return p, err
}

func exitOf(state *os.ProcessState) Exit { return Exit{Code: state.ExitCode()} }

func isOpen(h uintptr) bool {
	t, err := syscall.GetFileType(syscall.Handle(h))
	return h != 0 && err == nil && t == syscall.FILE_TYPE_PIPE
}

// CloseInherited has nothing to do: a process inherits the handles that are
// listed for it and no other.
func CloseInherited(...*os.File) {}

// RedirectOutput makes f what this process's own writes to standard output and
// error reach. What the system writes there itself stays where it was.
func RedirectOutput(f *os.File) error {
	os.Stdout, os.Stderr = f, f
	return nil
}
