package sys

import (
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
	"time"
)

// A reader that goes in and out of the poller reads the same bytes.
func TestPipeQuiet(t *testing.T) {
	r, w, err := NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	buf := make([]byte, 16)
	for _, word := range []string{"one", "two", "three"} {
		for range 2 { // again is nothing
			if err := r.Quiet(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.ReadNow(buf); err != ErrWouldBlock {
			t.Errorf("quiet and empty: %v", err)
		}
		io.WriteString(w, word)
		if n, err := r.Buffered(); err == nil && n != len(word) {
			t.Errorf("quiet: %d bytes are buffered", n)
		}
		if n, err := r.ReadNow(buf); err != nil || string(buf[:n]) != word {
			t.Errorf("quiet: %q %v", buf[:n], err)
		}
		go io.WriteString(w, word)
		if n, err := r.Read(buf); err != nil || string(buf[:n]) != word {
			t.Errorf("after it: %q %v", buf[:n], err)
		}
	}
	// A deadline that is set meanwhile holds for the next Read.
	if err := r.Quiet(); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past the deadline: %v", err)
	}
	if err := r.Quiet(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	// A process that is just being started may have the other end, until its exec.
	_, err = r.ReadNow(buf)
	for late := time.Now().Add(10 * time.Second); err == ErrWouldBlock && time.Now().Before(late); {
		runtime.Gosched()
		_, err = r.ReadNow(buf)
	}
	if err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Quiet(); err != nil {
		t.Errorf("closed: %v", err)
	}
	if _, err := r.Read(buf); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Whoever closes the pipe or sets its deadline may do so while it goes in and out.
func TestPipeQuietBesideOthers(t *testing.T) {
	r, w, err := NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ended := make(chan error, 1)
	turns := make(chan int)
	go func() {
		buf := make([]byte, 16)
		for n := 0; ; n++ {
			err := r.Quiet()
			if err == nil {
				_, err = r.Read(buf)
			}
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				ended <- err
				return
			}
			select {
			case turns <- n:
			default:
			}
		}
	}()
	for range 50 {
		r.SetReadDeadline(time.Unix(1, 0))
		<-turns
		r.SetReadDeadline(time.Time{})
		io.WriteString(w, "x")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}
