package sys

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestOwnPipe: what is opened once more is polled, and the pipe as others have it is
// as it was.
func TestOwnPipe(t *testing.T) {
	r, w := blockingPipe(t)
	own := OwnPipe(r)
	if own == r {
		t.Fatal("the pipe was not opened once more")
	}
	defer own.Close()
	flags, _, no := syscall.Syscall(syscall.SYS_FCNTL, r.Fd(), syscall.F_GETFL, 0)
	if no != 0 || flags&syscall.O_NONBLOCK != 0 {
		t.Errorf("the other end of the descriptor has the flags %#x, %v", flags, no)
	}
	if err := own.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Errorf("it is not in the poller: %v", err)
	}
	if _, err := own.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read after its deadline: %v", err)
	}
	if err := own.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("said"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if text, err := io.ReadAll(own); string(text) != "said" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
}

func TestOwnPipeOfNone(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := OpenNull()
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, _ := blockingPipe(t)
	r.Close()
	for _, f := range []*os.File{file, null, r} {
		if own := OwnPipe(f); own != f {
			t.Errorf("%s was opened once more", f.Name())
		}
	}
}
