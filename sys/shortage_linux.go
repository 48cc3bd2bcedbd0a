package sys

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// limits names, for the errors of a shortage that may pass, what has run out.
// Such an error says nothing about what this host can do.
var limits = []struct {
	no   syscall.Errno
	text func() string
}{
	{syscall.EMFILE, func() string {
		return fmt.Sprintf("no file descriptor is left: this process may have %d (ulimit -n)", linux.FileLimit())
	}},
	{syscall.ENFILE, func() string { return "no file descriptor is left on the whole system (fs.file-max)" }},
	{syscall.ENOMEM, func() string { return "the system, or a control group's memory.max, is out of memory" }},
	{syscall.ENOBUFS, func() string { return "the kernel is out of buffers" }},
	{syscall.EAGAIN, func() string {
		return "no process or control group can be created: " + linux.ProcessLimits() + ", or a control group's cgroup.max.descendants"
	}},
	{syscall.ENOSPC, func() string {
		return "a limit of the kernel is reached: control groups of the system, cgroup.max.descendants, pid_max or fs.epoll.max_user_watches"
	}},
}

// shortage gives the StartError of a shortage, nil for any other error.
func shortage(err error) *StartError {
	for _, l := range limits {
		if errors.Is(err, l.no) {
			return &StartError{Code: CodeResourcesExhausted, Detail: l.text(), Err: err}
		}
	}
	return nil
}

// isScarce tells whether nothing can be said of the rung yet for lack of
// descriptors or memory. Where a control group may have no more descendants
// (EAGAIN, ENOSPC) at the first try, the rung does not work here.
func isScarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// unusableForGood tells whether the kernel's answer is that control groups are
// not ours to use, or no longer: it would be the same the next time.
func unusableForGood(err error) bool {
	for _, no := range []syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.ENOENT,
		syscall.ENODEV, syscall.ENOTDIR, syscall.ENOSYS, syscall.EOPNOTSUPP} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}
