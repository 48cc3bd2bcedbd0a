//go:build linux || darwin

package sys

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// fcntlFlags are the flags of an open file.
func fcntlFlags(f *os.File) (flags int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var no syscall.Errno
	err = raw.Control(func(fd uintptr) {
		var got uintptr
		got, _, no = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
		flags = int(got)
	})
	if no != 0 {
		err = no
	}
	return flags, err
}

// giveUp proves that a read of a terminal's output can be given up, by a deadline
// and by closing, and that reading without waiting does not wait, while somebody
// holds the terminal. Its size is set first, which must change nothing of that.
func giveUp(t *testing.T, term *Terminal) {
	t.Helper()
	out := term.Output
	if err := term.SizeFrom(term.Child); err != nil {
		t.Fatal(err)
	}
	if flags, err := fcntlFlags(term.master); err != nil || flags&syscall.O_NONBLOCK == 0 {
		t.Fatalf("the master waits: flags %#x, %v", flags, err)
	}
	b := make([]byte, 16)
	if n, err := out.ReadNow(b); n != 0 || !errors.Is(err, ErrWouldBlock) {
		t.Errorf("read without waiting: %d %v", n, err)
	}
	if err := out.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read after its deadline: %v", err)
	}
	if err := out.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := out.Read(b)
		ended <- err
	}()
	if err := out.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("read of a closed terminal: %v", err)
	}
}

func TestTerminalGivenUp(t *testing.T) {
	term, err := OpenTerminal()
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer term.Child.Close()
	giveUp(t, term)
}

// The master of macOS comes as a file that waits, in no poller.
func TestTerminalMasterThatWaits(t *testing.T) {
	made, child, err := pty.Open()
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	defer child.Close()
	fd, err := syscall.Dup(int(made.Fd())) // Fd has it wait
	made.Close()
	if err != nil {
		t.Fatal(err)
	}
	waits := os.NewFile(uintptr(fd), "master")
	if err := waits.SetReadDeadline(time.Time{}); !errors.Is(err, os.ErrNoDeadline) {
		t.Fatalf("this master is in the poller: %v", err)
	}
	master := polledMaster(waits)
	term := &Terminal{Output: &PipeReader{end: &pipeEnd{f: master, shared: true}}, Child: child, master: master}
	if _, err := child.WriteString("said"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 16)
	if n, err := term.Output.Read(b); err != nil || string(b[:n]) != "said" {
		t.Errorf("read %q: %v", b[:n], err)
	}
	giveUp(t, term)
}
