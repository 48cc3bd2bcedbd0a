package main

import (
	"os"
	"os/exec"
	"syscall"
)

// elsewhere is where the escapee is started.
const elsewhere = "a console group of its own"

var politeSignals = []os.Signal{os.Interrupt}

// escape makes a command leave the console group of its parent.
func escape(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

const (
	querySynchronize = 0x00100000 // SYNCHRONIZE: the least that lets us wait for a process
	waitTimeout      = 258        // WAIT_TIMEOUT: it has not ended
)

// alive asks the system whether a process is there and has not ended.
func alive(pid int) bool {
	h, err := syscall.OpenProcess(querySynchronize, false, uint32(pid))
	if err != nil {
		return false
	}
	defer syscall.CloseHandle(h)
	event, err := syscall.WaitForSingleObject(h, 0)
	return err == nil && event == waitTimeout
}
