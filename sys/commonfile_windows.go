package sys

import (
	"errors"
	"os"
	"syscall"
)

// wouldBlock: no file of Windows is made not to wait by somebody else.
func wouldBlock(error) bool { return false }

func polledCopy(*os.File) (*os.File, error) { return nil, ErrUnsupported }

// The words of a pipe whose reader is gone: ERROR_BROKEN_PIPE, ERROR_NO_DATA.
const (
	errBrokenPipe = syscall.Errno(109)
	errNoData     = syscall.Errno(232)
)

func readerGone(_ *os.File, err error) bool {
	return errors.Is(err, errBrokenPipe) || errors.Is(err, errNoData)
}
