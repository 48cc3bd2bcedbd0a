package sys

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// NobodyListens tells whether a connect failed because nobody listens at the
// address: a name that is not there, or a refusal. Every other error, a
// permission that is missing above all, says nothing of that. On macOS and the
// BSDs somebody who has too many callers at once refuses one as well.
func NobodyListens(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errRefused)
}

// HungUp tells whether reading or writing failed because the other end of a
// connection is gone. The end of what it said, io.EOF, is no such error.
func HungUp(err error) bool {
	return slices.ContainsFunc(hangUps, func(no syscall.Errno) bool { return errors.Is(err, no) })
}
