package linux

import (
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// streamPair is what a program started by node has as its standard input, and the
// other end of it. Both block.
func streamPair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs = os.NewFile(uintptr(p[0]), "our end"), os.NewFile(uintptr(p[1]), "their end")
	t.Cleanup(func() {
		ours.Close()
		theirs.Close()
	})
	return ours, theirs
}

func TestStream(t *testing.T) {
	ours, theirs := streamPair(t)
	s, err := NewStream(ours)
	if err != nil {
		t.Fatal(err)
	}
	if flags, err := unix.FcntlInt(ours.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("the socket has the flags %#x, %v", flags, err)
	}
	if n, err := s.Read(nil); n != 0 || err != nil {
		t.Errorf("a read of nothing: %d, %v", n, err)
	}
	if err := s.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after its deadline: %v", err)
	}
	if err := s.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.WriteString("said"); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if text, err := io.ReadAll(s); string(text) != "said" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
}

// TestStreamWakes: no word is slept over, whether its reader waits already or just
// goes to, and also where each read takes a part only.
func TestStreamWakes(t *testing.T) {
	ours, theirs := streamPair(t)
	back, here := streamPair(t)
	s, err := NewStream(ours)
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 20_000
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		defer here.Close()
		var b [3]byte
		for range rounds {
			if _, err := io.ReadFull(s, b[:1]); err != nil {
				t.Error(err)
				return
			}
			if _, err := io.ReadFull(s, b[1:]); err != nil || b != [3]byte{'a', 'b', 'c'} {
				t.Errorf("%q, %v", b, err)
				return
			}
			if _, err := here.Write(b[:1]); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range rounds {
		if _, err := theirs.WriteString("abc"); err != nil {
			t.Fatal(err)
		}
		if _, err := back.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStreamOfNone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	if s, err := NewStream(r); err == nil {
		t.Errorf("a pipe was taken: %v", s)
	}
	a, b, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	CloseFD(b)
	f := os.NewFile(uintptr(a), "messages")
	defer f.Close()
	if s, err := NewStream(f); !errors.Is(err, unix.EPROTOTYPE) {
		t.Errorf("a socket of messages: %v, %v", s, err)
	}
}
