package sys_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// The errors are those of real connections: what the numbers are called differs
// between systems.
func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := net.Dial("tcp4", l.Addr().String()); !sys.NobodyListens(err) {
		t.Errorf("a port that nobody has: %v", err)
	}
	e, err := sys.ListenTemp()
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	if _, _, err := sys.DialEndpoint(t.Context(), e.Name()); !sys.NobodyListens(err) {
		t.Errorf("an endpoint that is closed: %v", err)
	}
	if _, err := os.Open(filepath.Join(t.TempDir(), "none")); !sys.NobodyListens(err) {
		t.Errorf("a name that is not there: %v", err)
	}
	for _, err := range []error{nil, io.EOF, syscall.EACCES, syscall.EPERM, syscall.EAGAIN, sys.ErrStranger} {
		if sys.NobodyListens(fmt.Errorf("connect: %w", err)) {
			t.Errorf("%v: nobody is there", err)
		}
	}
}

// hungUp connects, has the other end go without a word, though it was told
// something, and gives the error of f.
func hungUp(t *testing.T, f func(c net.Conn) error) error {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	return f(c)
}

func TestHungUp(t *testing.T) {
	err := hungUp(t, func(c net.Conn) error {
		_, err := c.Read(make([]byte, 1))
		return err
	})
	if !sys.HungUp(err) && err != io.EOF { // under Wine
		t.Errorf("a read: %v", err)
	}
	err = hungUp(t, func(c net.Conn) error {
		for {
			if _, err := c.Write(make([]byte, 1<<10)); err != nil {
				return err
			}
		}
	})
	if !sys.HungUp(err) {
		t.Errorf("a write: %v", err)
	}
	for _, err := range []error{nil, io.EOF, net.ErrClosed, os.ErrDeadlineExceeded, errors.New("other")} {
		if sys.HungUp(err) {
			t.Errorf("%v is no hang-up", err)
		}
	}
}

// A pipe whose reader is gone.
func TestHungUpOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	if _, err := w.WriteString("x"); !sys.HungUp(err) {
		t.Errorf("a write: %v", err)
	}
}
