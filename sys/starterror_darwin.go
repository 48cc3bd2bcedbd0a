package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/darwin"
)

func startTimeout(path string, limit time.Duration) *StartError {
	return &StartError{Code: CodeStartTimeout, Path: path,
		Detail: fmt.Sprintf("the file system did not answer within %v", limit)}
}

func changed(path string) *StartError {
	return &StartError{Code: CodeChanged, Path: path, Detail: "is not the file that was approved: it was replaced or written since"}
}

func unavailable(why, remedy string) *StartError {
	return &StartError{Code: CodeContainmentUnavailable, Detail: why + " (" + remedy + ")", Err: ErrUnsupported}
}

// openError explains why a file cannot be looked at.
func openError(path string, err error) *StartError {
	e := &StartError{Code: CodeSpawn, Path: path, Detail: errnoText(err), Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		e.Code, e.Detail = CodeNotFound, "no such file"
	case errors.Is(err, fs.ErrPermission):
		e.Code, e.Detail = CodePermissionDenied, "permission denied"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Code, e.Path, e.Detail = CodeResourcesExhausted, "", noDescriptor(err)
	}
	return e
}

func noDescriptor(err error) string {
	var limit syscall.Rlimit
	if errors.Is(err, syscall.ENFILE) || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return "no file descriptor is left on the whole system (kern.maxfiles)"
	}
	return fmt.Sprintf("no file descriptor is left: this process may have %d (ulimit -n)", limit.Cur)
}

// spawnError turns the kernel's refusal of a whole start into a StartError.
// What the look before could see for itself never comes here.
func spawnError(sp *Spec, facts *programFacts, err error) error {
	if se, ok := errors.AsType[*StartError](err); ok {
		return se
	}
	e := &StartError{Code: CodeSpawn, Path: sp.Path, Detail: errnoText(err), Err: err}
	no, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return e
	}
	switch no {
	case syscall.E2BIG:
		e.Code, e.Path, e.Detail = CodeArgumentsTooLong, "", tooLong(sp)
	case syscall.ENOEXEC, syscall.EBADARCH, syscall.EBADEXEC, syscall.EBADMACHO:
		e.Code, e.Detail = CodeBadFormat, facts.program.Refusal()
	case syscall.ENOENT:
		e.Code, e.Detail = CodeNotFound, "no such file"
		if _, serr := darwin.Stat(sp.Dir); errors.Is(serr, fs.ErrNotExist) {
			e.Code, e.Path, e.Detail = CodeCwdMissing, sp.Dir, "no such directory"
		} else if facts.program.Interpreter != "" {
			e.Code, e.Detail = CodeInterpreterMissing, "its interpreter "+quoteOdd(facts.program.Interpreter)+" does not exist"
		}
	case syscall.EACCES:
		e.Code, e.Detail = CodePermissionDenied, "permission denied"
	case syscall.EPERM:
		e.Code, e.Detail = CodePermissionDenied, "operation not permitted (a sandbox or a quarantine forbids it)"
	case syscall.ETXTBSY:
		e.Code, e.Detail = CodeFileBusy, fmt.Sprintf("is still open for writing after %v", busyLimit)
	case syscall.EAGAIN:
		e.Code, e.Path, e.Detail = CodeResourcesExhausted, "", "no process can be created: "+processLimit()
	case syscall.ENOMEM:
		e.Code, e.Path, e.Detail = CodeResourcesExhausted, "", "no process can be created: the system is out of memory"
	case syscall.EMFILE, syscall.ENFILE:
		e.Code, e.Path, e.Detail = CodeResourcesExhausted, "", noDescriptor(err)
	}
	return e
}

func processLimit() string {
	n, err := darwin.MaxProcesses()
	if err != nil {
		return "the limit of processes is reached (ulimit -u)"
	}
	return fmt.Sprintf("this user may have %d (kern.maxprocperuid, ulimit -u)", n)
}

// tooLong names the limit that arguments and environment exceed.
func tooLong(sp *Spec) string {
	total := 0
	for _, list := range [2][]string{sp.Argv, sp.Env} {
		for _, s := range list {
			total += len(s) + 1 + 8 // the text, its NUL and its pointer
		}
	}
	limit, err := darwin.MaxArguments()
	if err != nil {
		return fmt.Sprintf("arguments and environment take %d bytes, more than the kernel takes (kern.argmax)", total)
	}
	return fmt.Sprintf("arguments and environment take %d bytes; the kernel takes %d (kern.argmax)", total, limit)
}
