//go:build unix

package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func hasDirectory(name string) bool { return strings.ContainsRune(name, '/') }

// executables gives what tells whether a path is a file that can be run.
func executables(string) func(full string) (string, *StartError) {
	return func(full string) (string, *StartError) { return full, checkExecutable(full) }
}

// absolute leaves an absolute path as it is written: with a symbolic link before
// it, ".." is not what it looks like.
func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// checkExecutable tells why the file cannot be run, or nil.
func checkExecutable(full string) *StartError {
	fi, err := os.Stat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &StartError{Code: CodeNotFound, Path: full, Detail: "no such file", Err: err}
	case errors.Is(err, fs.ErrPermission):
		return &StartError{Code: CodePermissionDenied, Path: full, Detail: "permission denied", Err: err}
	case err != nil:
		return &StartError{Code: CodeNotFound, Path: full, Detail: errnoText(err), Err: err}
	case fi.IsDir():
		return &StartError{Code: CodeNotExecutable, Path: full, Detail: "is a directory"}
	case !fi.Mode().IsRegular():
		return &StartError{Code: CodeNotExecutable, Path: full, Detail: "is not a regular file"}
	case fi.Mode().Perm()&0o111 == 0:
		return &StartError{Code: CodeNotExecutable, Path: full, Detail: "has no execute bit (chmod +x would set it)"}
	}
	return nil
}

// errnoText is the kernel's word for an error, without Go's operation and path.
func errnoText(err error) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return err.Error()
}

func shell(line, _ string) (string, []string) {
	return "/bin/sh", []string{"/bin/sh", "-c", line}
}
