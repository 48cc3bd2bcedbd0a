//go:build unix

package sys

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// passOn gives the child's descriptor for f.
func passOn(attr *os.ProcAttr, f *os.File) uint64 {
	attr.Files = append(attr.Files, f)
	return uint64(len(attr.Files) - 1)
}

func startDetached(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	return os.StartProcess(path, argv, attr)
}

func exitOf(state *os.ProcessState) Exit {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return Exit{Code: state.ExitCode()}
	}
	return Exit{Signal: Signal(ws.Signal()), Core: ws.CoreDump()}
}

func isOpen(fd uintptr) bool {
	var st syscall.Stat_t
	return fd > 2 && syscall.Fstat(int(fd), &st) == nil
}

// CloseInherited closes every descriptor from 3 up that a program without care
// has left to this one, except those to keep. What this program opened itself
// stays open: Go opens everything close-on-exec, and a descriptor that came
// through an exec is not. It belongs at the start of main.
func CloseInherited(keep ...*os.File) {
	kept := map[int]bool{}
	for _, f := range keep {
		if f != nil {
			kept[int(f.Fd())] = true
		}
	}
	for _, fd := range openDescriptors() {
		if fd > 2 && !kept[fd] && inherited(fd) {
			// Best effort: one that is closed already is what was wanted.
			_ = syscall.Close(fd)
		}
	}
}

// openDescriptors lists this process's descriptors as far as the system tells.
func openDescriptors() []int {
	var all []int
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		names, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, n := range names {
			if fd, err := strconv.Atoi(n.Name()); err == nil {
				all = append(all, fd)
			}
		}
		break
	}
	return all
}

// RedirectOutput makes f what this process's standard output and error are, for
// all that writes to them by number: a panic above all.
func RedirectOutput(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var dup error
	err = raw.Control(func(fd uintptr) {
		for _, to := range []int{1, 2} {
			if dup = redirect(int(fd), to); dup != nil {
				return
			}
		}
	})
	return errors.Join(err, dup)
}
