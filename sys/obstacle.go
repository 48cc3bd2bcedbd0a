package sys

import (
	"fmt"
	"io/fs"
	"os"
)

// Obstacle explains why a file of ours at path could not be read, written or
// removed: where a directory, a link or the like has its name, the error says so
// and what to do. Any other err is returned as it is.
func Obstacle(path string, err error) error {
	if err == nil {
		return nil
	}
	fi, lerr := os.Lstat(path)
	if lerr != nil || fi.Mode().IsRegular() {
		return err
	}
	return &obstacle{path, kindOf(fi.Mode()), err}
}

func kindOf(m fs.FileMode) string {
	switch m.Type() {
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "no regular file"
}

// obstacle keeps the error of the system for those who ask, and does not repeat
// it: it names a temporary file, or an operation that tells nobody anything.
type obstacle struct {
	path, kind string
	err        error
}

func (o *obstacle) Error() string {
	return fmt.Sprintf("%s is %s where belfry keeps a file; move it away", o.path, o.kind)
}

func (o *obstacle) Unwrap() error { return o.err }
