//go:build unix

package sys

import (
	"bytes"
	"io"
	"os"
	"syscall"
	"testing"
)

// blockingPipe is a pipe of which neither end is in the poller.
func blockingPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	r, w = os.NewFile(uintptr(fds[0]), "reading end"), os.NewFile(uintptr(fds[1]), "writing end")
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// nonBlocking is what another process may do to a file that it shares with us.
func nonBlocking(t *testing.T, f *os.File, to bool) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := raw.Control(func(fd uintptr) { err = syscall.SetNonblock(int(fd), to) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
}

// What does not wait for others waits here, and no byte is lost, however often
// that changes.
func TestCommonFileWaits(t *testing.T) {
	r, w := blockingPipe(t)
	in, out := NewCommonFile(r), NewCommonFile(w)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // more than a pipe holds
	got := make(chan []byte)
	nonBlocking(t, r, true)
	go func() {
		b := make([]byte, len(sent))
		n, _ := io.ReadFull(in, b) // the first read finds nothing
		got <- b[:n]
	}()
	for i := 0; i < len(sent); i += len(sent) / 4 {
		nonBlocking(t, w, i%2 == 0)
		if n, err := out.Write(sent[i : i+len(sent)/4]); n != len(sent)/4 || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		nonBlocking(t, w, true)
	}
	if !bytes.Equal(<-got, sent) {
		t.Error("what was read is not what was written")
	}
	r.Close()
	if p := in.read.polled; p != nil { // nil: there was always something to read
		p.Close()
	}
	if _, err := out.Write(sent); !out.ReaderGone(err) {
		t.Errorf("nobody reads any more: %v", err)
	}
}

// A disk that is full, or fails, has not lost its reader.
func TestReaderGone(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.EPIPE: true, syscall.ENOSPC: false, syscall.EIO: false, nil: false,
	} {
		f, terr := os.CreateTemp(t.TempDir(), "")
		if terr != nil {
			t.Fatal(terr)
		}
		defer f.Close()
		if got := NewCommonFile(f).ReaderGone(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
