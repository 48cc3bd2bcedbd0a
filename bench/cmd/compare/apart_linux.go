package main

import (
	"os/exec"
	"syscall"
)

// apart starts a command in a session of its own, as job servers start theirs:
// where the kernel shares the processor by sessions, all sides are alike then. As
// no Ctrl-C reaches it there, the end of this program asks it to end.
func apart(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	return cmd
}
