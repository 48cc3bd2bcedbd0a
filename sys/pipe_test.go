package sys

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func TestPipe(t *testing.T) {
	r, w, err := NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	buf := make([]byte, 16)
	if _, err := r.ReadNow(buf); err != ErrWouldBlock {
		t.Errorf("empty: %v", err)
	}
	if n, err := r.Buffered(); n != 0 || err != nil {
		t.Errorf("empty: %d %v", n, err)
	}
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past the deadline: %v", err)
	}
	io.WriteString(w, "hello")
	if n, err := r.Buffered(); n != 5 || err != nil {
		t.Errorf("buffered %d %v", n, err)
	}
	if n, err := r.ReadNow(buf); n != 5 || err != nil || string(buf[:n]) != "hello" {
		t.Errorf("past the deadline, at once: %d %v", n, err)
	}
	if err := r.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go io.WriteString(w, "late")
	if n, err := r.Read(buf); n != 4 || err != nil {
		t.Errorf("waited: %d %v", n, err)
	}
	if n, err := r.Grow(1 << 18); err != nil || n > 1<<18 {
		t.Errorf("grow: %d %v", n, err)
	}
	if _, err := r.Grow(1 << 30); err != nil {
		t.Errorf("grow beyond every limit: %v", err)
	}
	w.Close()
	if _, err := r.Read(buf); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if _, err := r.ReadNow(buf); err != io.EOF {
		t.Errorf("at the end, at once: %v", err)
	}
}

func TestPipeCloseEndsRead(t *testing.T) {
	r, w, err := NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got := make(chan error, 1)
	go func() {
		_, err := r.Read(make([]byte, 1))
		got <- err
	}()
	r.Close()
	if err := <-got; !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := r.ReadNow(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}
