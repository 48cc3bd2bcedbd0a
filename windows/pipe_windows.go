package windows

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	xwin "golang.org/x/sys/windows"
)

// pipeBuffer is the size in bytes that a pipe asks for.
const pipeBuffer = 64 << 10

// NewPipe makes a one-way byte pipe. Reads of the first handle may wait in a
// completion port (it is overlapped), which an anonymous pipe cannot; the
// second is an ordinary synchronous handle as programs expect of their output.
// Neither is inheritable.
//
// It is a named pipe of one instance with a random name; its one client is
// connected before this returns, so nobody else can be.
func NewPipe() (reader, writer uintptr, err error) {
	name, err := xwin.UTF16PtrFromString(`\\.\pipe\belfry-` + rand.Text())
	if err != nil {
		return 0, 0, err
	}
	// The owner alone.
	sd, err := xwin.SecurityDescriptorFromString("D:P(A;;GA;;;OW)")
	if err != nil {
		return 0, 0, fmt.Errorf("make pipe: %w", err)
	}
	sa := xwin.SecurityAttributes{Length: uint32(unsafe.Sizeof(xwin.SecurityAttributes{})), SecurityDescriptor: sd}
	r, err := xwin.CreateNamedPipe(name,
		xwin.PIPE_ACCESS_INBOUND|xwin.FILE_FLAG_OVERLAPPED|xwin.FILE_FLAG_FIRST_PIPE_INSTANCE,
		xwin.PIPE_TYPE_BYTE|xwin.PIPE_READMODE_BYTE|xwin.PIPE_WAIT|xwin.PIPE_REJECT_REMOTE_CLIENTS,
		1, 0, pipeBuffer, 0, &sa)
	if err != nil {
		return 0, 0, os.NewSyscallError("CreateNamedPipe", err)
	}
	w, err := xwin.CreateFile(name, xwin.GENERIC_WRITE|xwin.FILE_READ_ATTRIBUTES, 0, nil, xwin.OPEN_EXISTING, 0, 0)
	if err != nil {
		xwin.CloseHandle(r)
		return 0, 0, os.NewSyscallError("CreateFile", err)
	}
	return uintptr(r), uintptr(w), nil
}

// PipeBuffered is the number of bytes that wait in the pipe. io.EOF: none do,
// and every writer is gone.
func PipeBuffered(reader uintptr) (int, error) {
	var n uint32
	r, _, err := procPeekNamedPipe.Call(reader, 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0)
	switch {
	case uint32(r) != 0:
		return int(n), nil
	case errors.Is(err, xwin.ERROR_BROKEN_PIPE):
		return 0, io.EOF
	}
	return 0, os.NewSyscallError("PeekNamedPipe", err)
}

var (
	procPeekNamedPipe       = modkernel32.NewProc("PeekNamedPipe")
	procReadFile            = modkernel32.NewProc("ReadFile")
	procGetOverlappedResult = modkernel32.NewProc("GetOverlappedResult")
)

// ErrPipeEmpty is returned by PipeReadNow when nothing waits.
var ErrPipeEmpty = errors.New("nothing waits in the pipe")

// PipeReadNow reads what waits in the pipe and never waits itself: ErrPipeEmpty
// when nothing does, io.EOF at the end. It may be mixed with reads through the
// runtime's poller, but not run beside one.
func PipeReadNow(reader uintptr, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := PipeBuffered(reader)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, ErrPipeEmpty
	}
	event, err := xwin.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return 0, os.NewSyscallError("CreateEvent", err)
	}
	defer xwin.CloseHandle(event)
	// The low bit keeps the completion away from the runtime's port.
	o := xwin.Overlapped{HEvent: event | 1}
	var got uint32
	// Both are Proc.Call, by which what the kernel may still write to after the
	// first returns is nothing on the stack, which moves.
	ok, _, err := procReadFile.Call(reader, uintptr(unsafe.Pointer(&b[0])), uintptr(min(len(b), n)),
		uintptr(unsafe.Pointer(&got)), uintptr(unsafe.Pointer(&o)))
	if uint32(ok) == 0 && errors.Is(err, xwin.ERROR_IO_PENDING) {
		// The bytes are there and this is the one reader: it is about to end.
		const wait = 1
		ok, _, err = procGetOverlappedResult.Call(reader, uintptr(unsafe.Pointer(&o)), uintptr(unsafe.Pointer(&got)), wait)
	}
	runtime.KeepAlive(b)
	switch {
	case uint32(ok) == 0 && errors.Is(err, xwin.ERROR_BROKEN_PIPE):
		return 0, io.EOF
	case uint32(ok) == 0:
		return 0, os.NewSyscallError("ReadFile", err)
	case got == 0:
		return 0, ErrPipeEmpty // an empty write
	}
	return int(got), nil
}
