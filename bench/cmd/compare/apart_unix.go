//go:build unix && !linux

package main

import (
	"os/exec"
	"syscall"
)

// apart starts a command in a session of its own, as job servers start theirs.
func apart(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}
