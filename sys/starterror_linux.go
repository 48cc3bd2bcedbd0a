package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

func startTimeout(path string, limit time.Duration) *StartError {
	return &StartError{Code: CodeStartTimeout, Path: path,
		Detail: fmt.Sprintf("the file system did not answer within %v", limit)}
}

// spawnError turns the kernel's refusal of a whole start into a StartError.
// What the preflight could see for itself never comes here.
func spawnError(sp *Spec, facts *programFacts, err error) error {
	if se, ok := errors.AsType[*StartError](err); ok {
		return se
	}
	e := &StartError{Code: CodeSpawn, Path: sp.Path, Err: err}
	if short := shortage(err); short != nil {
		return short
	}
	var no syscall.Errno
	if !errors.As(err, &no) {
		return e
	}
	e.Detail = no.Error()
	switch no {
	case syscall.E2BIG:
		e.Code, e.Path, e.Detail = CodeArgumentsTooLong, "", tooLong(sp)
	case syscall.ENOEXEC:
		e.Code, e.Detail = CodeBadFormat, facts.notRunnable()
	case syscall.ENOENT:
		e.Code, e.Detail = CodeNotFound, "no such file"
		if _, serr := stamp(sp.Dir); errors.Is(serr, fs.ErrNotExist) {
			e.Code, e.Path, e.Detail = CodeCwdMissing, sp.Dir, "no such directory"
		} else if facts.interpreter != "" {
			e.Code, e.Detail = CodeInterpreterMissing, "its interpreter "+facts.interpreter+" does not exist"
		}
	case syscall.EACCES:
		e.Code, e.Detail = CodePermissionDenied, "permission denied (no execute permission, or the file system is mounted noexec)"
	case syscall.EPERM:
		e.Code, e.Detail = CodePermissionDenied, "operation not permitted"
	case syscall.ETXTBSY:
		e.Code, e.Detail = CodeFileBusy, fmt.Sprintf("is still open for writing after %v", busyLimit)
	}
	return e
}

// tooLong names the limit that a program's arguments and environment exceed.
func tooLong(sp *Spec) string {
	total, longest := 0, 0
	for _, list := range [2][]string{sp.Argv, sp.Env} {
		for _, s := range list {
			n := len(s) + 1
			total += n + linux.PointerSize
			longest = max(longest, n)
		}
	}
	if longest > linux.MaxArgument {
		return fmt.Sprintf("one argument or variable is %d bytes long; the kernel takes %d", longest, linux.MaxArgument)
	}
	return fmt.Sprintf("arguments and environment take %d bytes; the kernel takes %d (a quarter of ulimit -s, at most 6 MiB)",
		total, linux.ArgumentSpace())
}

// openError explains why the program cannot be opened for a look.
func openError(path string, err error) *StartError {
	if short := shortage(err); short != nil {
		return short
	}
	e := &StartError{Code: CodeSpawn, Path: path, Detail: errnoText(err), Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		e.Code, e.Detail = CodeNotFound, "no such file"
	case errors.Is(err, fs.ErrPermission):
		e.Code, e.Detail = CodePermissionDenied, "permission denied"
	}
	return e
}
