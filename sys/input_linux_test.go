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

// TestPolledInput: what is polled ends and reads as before, and is for others as it
// was.
func TestPolledInput(t *testing.T) {
	for name, ends := range map[string]func(*testing.T) (r, w *os.File){"pipe": blockingPipe, "socket": blockingSocket} {
		t.Run(name, func(t *testing.T) {
			r, w := ends(t)
			in, ok := PolledInput(r).(interface {
				io.Reader
				SetReadDeadline(time.Time) error
			})
			if !ok || in == io.Reader(r) {
				t.Fatalf("%T is not polled", in)
			}
			if flags, _, no := syscall.Syscall(syscall.SYS_FCNTL, r.Fd(), syscall.F_GETFL, 0); no != 0 || flags&syscall.O_NONBLOCK != 0 {
				t.Errorf("for others it has the flags %#x, %v", flags, no)
			}
			if err := in.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if _, err := in.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a read after its deadline: %v", err)
			}
			if err := in.SetReadDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.WriteString("said"); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if text, err := io.ReadAll(in); string(text) != "said" || err != nil {
				t.Errorf("read %q, %v", text, err)
			}
		})
	}
}

// blockingSocket is what node gives a program as its standard input.
func blockingSocket(t *testing.T) (r, w *os.File) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, w = os.NewFile(uintptr(fds[0]), "our end"), os.NewFile(uintptr(fds[1]), "their end")
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// What cannot be polled, is closed or was never to be read stays as it is.
func TestPolledInputOfNone(t *testing.T) {
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
	r, w := blockingPipe(t)
	r.Close()
	for _, f := range []*os.File{file, null, r, w} {
		if in := PolledInput(f); in != io.Reader(f) {
			t.Errorf("%s was taken for what can be polled", f.Name())
		}
	}
}
