package windows

import (
	"errors"
	"io/fs"
	"os"

	xwin "golang.org/x/sys/windows"
)

// lockOffset is where the locked byte lies: a lock is mandatory for the bytes
// it covers, and no file reaches this far.
const lockOffset = 1<<63 - 2

// OpenShared opens a file for reading and writing that anybody may remove while
// it is open. create makes it, and it must not be there. A link is not followed.
func OpenShared(path string, create bool) (uintptr, error) {
	name, err := xwin.UTF16PtrFromString(path)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: ErrNul}
	}
	access, mode := uint32(xwin.GENERIC_READ), uint32(xwin.OPEN_EXISTING)
	if create {
		access, mode = access|xwin.GENERIC_WRITE, xwin.CREATE_NEW
	}
	const share = xwin.FILE_SHARE_READ | xwin.FILE_SHARE_WRITE | xwin.FILE_SHARE_DELETE
	h, err := xwin.CreateFile(name, access, share, nil, mode,
		xwin.FILE_ATTRIBUTE_NORMAL|xwin.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		op := "open"
		if create {
			op = "create"
		}
		return 0, &fs.PathError{Op: op, Path: path, Err: err}
	}
	return uintptr(h), nil
}

// LockByte locks one byte of a file. False: somebody holds it in a way that
// excludes this. The kernel gives it back when the handle is closed.
func LockByte(h uintptr, exclusive, wait bool) (bool, error) {
	var flags uint32
	if exclusive {
		flags |= xwin.LOCKFILE_EXCLUSIVE_LOCK
	}
	if !wait {
		flags |= xwin.LOCKFILE_FAIL_IMMEDIATELY
	}
	at := xwin.Overlapped{Offset: lockOffset & 0xFFFFFFFF, OffsetHigh: lockOffset >> 32}
	err := xwin.LockFileEx(xwin.Handle(h), flags, 0, 1, 0, &at)
	switch {
	case err == nil:
		return true, nil
	case !wait && (errors.Is(err, xwin.ERROR_LOCK_VIOLATION) || errors.Is(err, xwin.ERROR_IO_PENDING)):
		return false, nil
	}
	return false, os.NewSyscallError("LockFileEx", err)
}
