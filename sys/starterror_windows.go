package sys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/windows"
)

// lookLimit bounds what a file system may take to answer before a start.
const lookLimit = 2 * time.Second

// look tells, within lookLimit, why a program cannot be started.
func look(ctx context.Context, sp *Spec) error {
	dir, path := sp.Dir, sp.Path
	_, err := promptly(ctx, path, lookLimit, func() (struct{}, error) { return struct{}{}, lookAt(dir, path) })
	return err
}

// lookAt touches the directory and the program's file.
func lookAt(dir, path string) error {
	fi, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &StartError{Code: CodeCwdMissing, Path: dir, Detail: "no such directory", Err: err}
	case err != nil:
		return &StartError{Code: CodePermissionDenied, Path: dir, Detail: errnoText(err), Err: err}
	case !fi.IsDir():
		return &StartError{Code: CodeCwdNotDirectory, Path: dir, Detail: "is not a directory"}
	}
	if err := checkProgram(path); err != nil {
		return err
	}
	return nil
}

func startTimeout(path string, limit time.Duration) *StartError {
	return &StartError{Code: CodeStartTimeout, Path: path,
		Detail: fmt.Sprintf("the system did not answer within %v", limit)}
}

// commandLineError explains what cannot be put on a command line.
func commandLineError(path string, err error) *StartError {
	e := &StartError{Code: CodeSpawn, Path: path, Detail: err.Error(), Err: err}
	switch {
	case errors.Is(err, windows.ErrNul):
		e.Code, e.Path = CodeNulInArgument, ""
	case errors.Is(err, windows.ErrTooLong):
		e.Code, e.Path = CodeArgumentsTooLong, ""
	}
	return e
}

// createError explains what CreateProcess answered.
func createError(sp *Spec, err error) error {
	if se, ok := errors.AsType[*StartError](err); ok {
		return se
	}
	e := &StartError{Code: CodeSpawn, Path: sp.Path, Detail: errnoText(err), Err: err}
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	switch {
	case is(windows.ErrNul):
		e.Code, e.Path = CodeNulInArgument, ""
	case is(windows.ErrFileNotFound, windows.ErrPathNotFound):
		e.Code, e.Detail = CodeNotFound, "no such file"
	case is(windows.ErrElevation):
		e.Code, e.Detail = CodePermissionDenied, "wants to run elevated, which only an elevated program can start"
	case is(windows.ErrAccessDenied):
		e.Code, e.Detail = CodePermissionDenied, "access is denied"
	case is(windows.ErrVirus):
		e.Code = CodePermissionDenied
	case is(windows.ErrBadFormat):
		e.Code, e.Detail = CodeBadFormat, "is not a program of this system"
	case is(windows.ErrWrongMachine):
		e.Code, e.Detail = CodeBadFormat, "is a program for another kind of processor"
	case is(windows.ErrDirectory):
		e.Code, e.Path, e.Detail = CodeCwdMissing, sp.Dir, "cannot be the working directory"
	case is(windows.ErrNameTooLong):
		e.Code, e.Detail = CodeArgumentsTooLong, "the command line or a path in it is too long"
	case is(windows.ErrSharing):
		e.Code, e.Detail = CodeFileBusy, "is open for writing in another program"
	case is(windows.ErrNoMemory, windows.ErrOutOfMemory, windows.ErrCommitLimit, windows.ErrNoResources, windows.ErrJobQuota):
		e.Code, e.Path = CodeResourcesExhausted, ""
		e.Detail = "no process can be created: " + errnoText(err)
	}
	return e
}

// errnoText is the system's word for an error, without Go's operation and path.
func errnoText(err error) string {
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return no.Error()
	}
	return err.Error()
}
