//go:build unix

package sys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeEnd reads a pipe through the runtime's poller, or for a while without it.
type pipeEnd struct {
	// shared says that others have the file, too: it stays as it is.
	shared bool

	mu       sync.Mutex
	f        *os.File  // replaced by quiet and by the read after it
	quieted  bool      // f is not in the poller
	closed   bool      // f stays as it is
	deadline time.Time // of reads
}

// newPipe makes the pipe by hand: os.Pipe would put the child's end into the
// poller, too, which wakes it for nothing, and make it non-blocking. That flag is a
// property of the open file, which the child shares, and most programs do not
// expect EAGAIN from their output.
func newPipe() (*pipeEnd, *os.File, error) {
	r, w, err := pipePair()
	if err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	err = syscall.SetNonblock(r, true) // what makes os.NewFile use the poller
	p := &pipeEnd{f: os.NewFile(uintptr(r), "pipe of a job")}
	child := os.NewFile(uintptr(w), "pipe of a job, the job's end")
	if err != nil {
		return nil, nil, errors.Join(os.NewSyscallError("fcntl", err), p.close(), child.Close())
	}
	return p, child, nil
}

func (p *pipeEnd) read(b []byte) (int, error) {
	f, err := p.polled()
	if err != nil {
		return 0, err
	}
	n, err := f.Read(b)
	if errors.Is(err, syscall.EIO) {
		err = io.EOF // a terminal that nobody holds any more
	}
	return n, err
}

func (p *pipeEnd) setReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = t
	if p.quieted && !p.closed {
		return nil // the next read sees it
	}
	return p.f.SetReadDeadline(t)
}

func (p *pipeEnd) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.f.Close()
}

// file is what is read now.
func (p *pipeEnd) file() *os.File {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.f
}

// polled is the file, back in the poller.
func (p *pipeEnd) polled() (*os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quieted || p.closed {
		return p.f, nil
	}
	if err := p.replace(true); err != nil {
		return nil, err
	}
	p.quieted = false
	return p.f, p.f.SetReadDeadline(p.deadline)
}

func (p *pipeEnd) quiet() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quieted || p.shared || p.closed {
		return nil
	}
	if err := p.replace(false); err != nil {
		return err
	}
	p.quieted = true
	return nil
}

// replace puts another descriptor of the same pipe in the place of f: one in the
// poller or one out of it, which os.NewFile decides by whether it would wait.
// The flag belongs to the pipe's end, and nobody reads meanwhile.
func (p *pipeEnd) replace(poll bool) error {
	fd, err := dupFile(p.f)
	if err != nil {
		return err
	}
	err = syscall.SetNonblock(fd, poll)
	f := os.NewFile(uintptr(fd), p.f.Name())
	err = errors.Join(err, syscall.SetNonblock(fd, true))
	if err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", p.f.Name(), err), f.Close())
	}
	err = p.f.Close()
	p.f = f
	return err
}

// control runs f on the descriptor, whatever the deadline.
func (p *pipeEnd) control(f func(fd int)) error {
	file := p.file()
	raw, err := file.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { f(int(fd)) })
	}
	return usable(file, err)
}

func (p *pipeEnd) readNow(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	var n int
	var err error
	cerr := p.control(func(fd int) {
		for {
			n, err = syscall.Read(fd, b)
			if err != syscall.EINTR {
				return
			}
		}
	})
	switch {
	case cerr != nil:
		return 0, cerr
	case err == syscall.EAGAIN:
		return 0, ErrWouldBlock
	case err == syscall.EIO: // as above
		return 0, io.EOF
	case err != nil:
		return 0, &os.PathError{Op: "read", Path: p.file().Name(), Err: err}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (p *pipeEnd) buffered() (int, error) {
	var n int
	var err error
	if cerr := p.control(func(fd int) { n, err = pipeBuffered(fd) }); cerr != nil {
		return 0, cerr
	}
	return n, err
}

func (p *pipeEnd) grow(bytes int) (now int, err error) {
	err = p.control(func(fd int) { now = pipeGrow(fd, bytes) })
	return now, err
}
