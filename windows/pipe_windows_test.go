package windows

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// pipe gives the reader's handle too: File.Fd would take the file away from
// the runtime's poller.
func pipe(t *testing.T) (h uintptr, r, w *os.File) {
	t.Helper()
	rh, wh, err := NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w = os.NewFile(rh, "reader"), os.NewFile(wh, "writer")
	t.Cleanup(func() { r.Close(); w.Close() })
	return rh, r, w
}

func TestPipeCarriesEverything(t *testing.T) {
	_, r, w := pipe(t)
	want := bytes.Repeat([]byte("0123456789abcde\n"), 20_000)
	go func() {
		_, _ = w.Write(want)
		w.Close()
	}()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
}

func TestPipeDeadline(t *testing.T) {
	h, r, w := pipe(t)
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if _, err := r.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read with nothing there: %v", err)
	}
	// Past the deadline, what is there can be read all the same.
	if _, err := PipeReadNow(h, b); !errors.Is(err, ErrPipeEmpty) {
		t.Errorf("empty: %v", err)
	}
	if _, err := w.WriteString("hello"); err != nil {
		t.Fatal(err)
	}
	if n, err := PipeBuffered(h); err != nil || n != 5 {
		t.Errorf("buffered %d, %v", n, err)
	}
	if n, err := PipeReadNow(h, b); err != nil || string(b[:n]) != "hello" {
		t.Errorf("read %q, %v", b[:n], err)
	}
	// And the poller's reads work again afterwards.
	if err := r.SetReadDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("again"); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(b); err != nil || string(b[:n]) != "again" {
		t.Errorf("read %q, %v", b[:n], err)
	}
	w.Close()
	if _, err := PipeBuffered(h); err != io.EOF {
		t.Errorf("buffered at the end: %v", err)
	}
	if _, err := PipeReadNow(h, b); err != io.EOF {
		t.Errorf("read at the end: %v", err)
	}
}

func TestFileID(t *testing.T) {
	dir, err := os.MkdirTemp("", "fileid")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x")
	defer os.Remove(dir)
	defer os.Remove(path)
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := ReadFileID(path)
	if err != nil || a.Size != 3 || a.Index == 0 || a.Written == 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	pin, b, err := Pin(path)
	if err != nil || a != b {
		t.Fatalf("pinned %+v, %v; want %+v", b, err, a)
	}
	if err := os.WriteFile(path, []byte("two!"), 0o600); err == nil {
		t.Error("a pinned file was written")
	}
	if err := pin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("two!"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadFileID(path); err != nil || c == a {
		t.Errorf("rewritten %+v, %v", c, err)
	}
	if _, err := ReadFileID(path + "-missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestMakePrivateDir(t *testing.T) {
	base, err := os.MkdirTemp("", "private")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "d")
	file := filepath.Join(base, "f")
	defer os.Remove(base)
	defer os.Remove(dir)
	defer os.Remove(file)
	for range 2 {
		if err := MakePrivateDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Errorf("not our own: %v", err)
	}
	os.Remove(filepath.Join(dir, "x"))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakePrivateDir(file); err == nil {
		t.Error("a file was taken for a directory")
	}
}
