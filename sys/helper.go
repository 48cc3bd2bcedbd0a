//go:build linux || darwin || windows

package sys

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
)

// helperName is the first argument by which this binary knows that it was
// started again as one of the package's helpers; the second is the role.
const helperName = "belfry-helper"

// initCalled: without Init a started copy of the program would be the program
// itself again, so no helper is started.
var initCalled atomic.Bool

var errInitNotCalled = errors.New("main does not call sys.Init first, so this program cannot serve as its own helper")

// A helper is one as soon as this package can work: it needs nothing of the
// program, and to prepare the program's other packages takes longer than the
// helper's own work does.
func init() {
	if len(os.Args) >= 2 && os.Args[0] == helperName {
		syscall.Exit(runHelper(os.Args[1], os.Args[2:]))
	}
}
