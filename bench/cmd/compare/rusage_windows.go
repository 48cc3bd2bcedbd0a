package main

import (
	"os/exec"
	"syscall"
	"time"
)

// apart is for systems with sessions.
func apart(cmd *exec.Cmd) *exec.Cmd { return cmd }

// ownCPU is the processor time that this process has used, its children's not in it.
func ownCPU() time.Duration {
	var made, gone, kernel, user syscall.Filetime
	h, err := syscall.GetCurrentProcess()
	if err == nil {
		err = syscall.GetProcessTimes(h, &made, &gone, &kernel, &user)
	}
	if err != nil {
		return 0
	}
	const tick = 100 * time.Nanosecond
	of := func(f syscall.Filetime) time.Duration {
		return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * tick
	}
	return of(kernel) + of(user)
}
