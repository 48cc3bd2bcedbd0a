//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// apart starts a command in a session of its own, as job servers start theirs:
// where the kernel shares the processor by sessions, all sides are alike then.
func apart(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// ownCPU is the processor time that this process has used, its children's not in it.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
