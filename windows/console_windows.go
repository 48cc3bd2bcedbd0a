package windows

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	xwin "golang.org/x/sys/windows"
)

// ErrNoConsole: the process has no console, or one that cannot be entered, so
// no control event reaches it.
var ErrNoConsole = errors.New("no console can be entered")

// ControlCExit is the exit code of a process that a control event ended
// (STATUS_CONTROL_C_EXIT).
const ControlCExit = 0xC000013A

var (
	procAttachConsole         = modkernel32.NewProc("AttachConsole")
	procFreeConsole           = modkernel32.NewProc("FreeConsole")
	procGetConsoleProcessList = modkernel32.NewProc("GetConsoleProcessList")
)

// Break sends CTRL_BREAK to a group of processes that share the console of
// member, and gives how many processes that console has. The group is named by
// the number of the process that it was made for.
//
// An event can only be sent to the console that the sender itself has, and a
// process has one at most: the caller gives up its own. So this is for a process
// that was started for it.
func Break(group, member int) (processes int, err error) {
	_, _, _ = procFreeConsole.Call() // fails where there is none
	if ok, _, err := procAttachConsole.Call(uintptr(member)); uint32(ok) == 0 {
		return 0, fmt.Errorf("AttachConsole of %d: %w: %w", member, ErrNoConsole, err)
	}
	var list [1]uint32 // what does not fit is counted all the same
	n, _, err := procGetConsoleProcessList.Call(uintptr(unsafe.Pointer(&list[0])), uintptr(len(list)))
	if uint32(n) == 0 {
		return 0, os.NewSyscallError("GetConsoleProcessList", err)
	}
	if err := xwin.GenerateConsoleCtrlEvent(xwin.CTRL_BREAK_EVENT, uint32(group)); err != nil {
		return 0, os.NewSyscallError("GenerateConsoleCtrlEvent", err)
	}
	return int(uint32(n)) - 1, nil // without this process
}

// StartDetached starts a program without a console, which inherits no handle.
func StartDetached(path string, argv, env []string) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return os.StartProcess(path, argv, &os.ProcAttr{Env: env, Files: []*os.File{null, null, null},
		Sys: &syscall.SysProcAttr{CreationFlags: xwin.DETACHED_PROCESS, NoInheritHandles: true}})
}

// AskForSequences has a console act on escape sequences (Windows 10, 1511).
func AskForSequences(console *os.File) error {
	h := xwin.Handle(console.Fd())
	var mode uint32
	if err := xwin.GetConsoleMode(h, &mode); err != nil {
		return os.NewSyscallError("GetConsoleMode", err)
	}
	return os.NewSyscallError("SetConsoleMode", xwin.SetConsoleMode(h, mode|xwin.ENABLE_VIRTUAL_TERMINAL_PROCESSING))
}
