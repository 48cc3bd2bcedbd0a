//go:build unix

package sys

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/creack/pty"
)

func openTerminal() (*Terminal, error) {
	master, child, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	master = polledMaster(master)
	return &Terminal{Output: &PipeReader{end: &pipeEnd{f: master, shared: true}}, Child: child, master: master}, nil
}

// polledMaster takes a terminal's master over, and gives one that waits in the
// runtime's poller: a read of another could not be given up, nor be tried
// without waiting. The one that pty opens is not there on macOS, whose kqueue
// takes it, and has been made to wait everywhere. One that the poller does not
// take stays as it was.
func polledMaster(master *os.File) *os.File {
	raw, err := master.SyscallConn()
	if err != nil {
		return master
	}
	wait := func(yes bool) (err error) {
		cerr := raw.Control(func(fd uintptr) { err = syscall.SetNonblock(int(fd), !yes) })
		return errors.Join(cerr, err)
	}
	if wait(false) != nil {
		return master
	}
	polled, err := polledCopy(master)
	if err == nil && polled.SetReadDeadline(time.Time{}) == nil {
		// Best effort: the copy is of the same open file.
		_ = master.Close()
		return polled
	}
	_ = wait(true) // Best effort: what was set a moment ago can be set again.
	if err == nil {
		_ = polled.Close() // Best effort, as above.
	}
	return master
}

func takesColours(*os.File) bool { return true }

func (t *Terminal) sizeFrom(tty *os.File) error {
	if err := pty.InheritSize(tty, t.master); err != nil {
		return fmt.Errorf("size the terminal: %w", err)
	}
	return nil
}
