//go:build linux || darwin

package sys

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func foreground(tty *os.File, leader ID) (func() error, error) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return nil, err
	}
	ours := syscall.Getpgrp()
	var give bool
	give, err = onTerminal(raw, func(fd int) error {
		if now, err := foregroundGroup(fd); err != nil || now != ours {
			return errNotOurs
		}
		if !inOurSession(leader) {
			return errNotOurs
		}
		return setForegroundGroup(fd, leader.PID)
	})
	if err != nil {
		return nil, fmt.Errorf("give the terminal to process %d: %w", leader.PID, err)
	}
	if !give {
		return nil, nil
	}
	// Best effort: it may have ended. The number is its own, since it is unreaped.
	_ = syscall.Kill(-leader.PID, syscall.SIGCONT)
	return func() error {
		_, err := onTerminal(raw, func(fd int) error { return setForegroundGroup(fd, ours) })
		if err != nil {
			return fmt.Errorf("take the terminal back: %w", err)
		}
		return nil
	}, nil
}

func ourTerminal(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	ours := false
	cerr := raw.Control(func(fd uintptr) {
		_, err := foregroundGroup(int(fd))
		ours = err == nil
	})
	return cerr == nil && ours
}

func inOurSession(id ID) bool {
	here, err1 := sessionOf(0)
	there, err2 := sessionOf(id.PID)
	return err1 == nil && err2 == nil && here == there
}

// errNotOurs: there is nothing to give.
var errNotOurs = syscall.ENOTTY

// onTerminal runs f on the descriptor while SIGTTOU is ignored: to a group in
// the background the kernel would send it.
func onTerminal(raw syscall.RawConn, f func(fd int) error) (bool, error) {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	var err error
	if cerr := raw.Control(func(fd uintptr) { err = f(int(fd)) }); cerr != nil {
		return false, cerr
	}
	if err == errNotOurs {
		return false, nil
	}
	return err == nil, err
}
