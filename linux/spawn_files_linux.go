package linux

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// forkExec is syscall.ForkExec, also where the numbers of the child's files are the
// last that this process may have: the child puts them aside at higher ones, which
// the kernel refuses with EBADF. They may be so high because of a shortage that has
// passed. EMFILE: it has not.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	pid, err = syscall.ForkExec(path, argv, attr)
	if err != syscall.EBADF || !isLast(attr.Files) {
		return pid, err
	}
	low := *attr
	low.Files = make([]uintptr, 0, len(attr.Files))
	defer func() {
		for _, fd := range low.Files {
			unix.Close(int(fd))
		}
	}()
	for _, fd := range attr.Files {
		copied, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) // the lowest there is
		if err != nil {
			return 0, err
		}
		low.Files = append(low.Files, uintptr(copied))
	}
	if isLast(low.Files) {
		return 0, syscall.EMFILE
	}
	return syscall.ForkExec(path, argv, &low)
}

// isLast tells whether above these descriptors there may be no room for as many more
// and the one that tells of the exec.
func isLast(files []uintptr) bool {
	return len(files) > 0 && uint64(slices.Max(files))+uint64(len(files))+2 > FileLimit()
}
