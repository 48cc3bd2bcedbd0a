package sys

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/belfry-dev/belfry/windows"
)

type pipeEnd struct{ f *os.File }

func newPipe() (*pipeEnd, *os.File, error) {
	r, w, err := windows.NewPipe()
	if err != nil {
		return nil, nil, err
	}
	p := &pipeEnd{f: os.NewFile(r, "pipe of a job")}
	child := os.NewFile(w, "pipe of a job, the job's end")
	// The runtime falls back to blocking reads where it cannot poll, and then
	// refuses deadlines: better no pipe than one that cannot be given up.
	if err := p.setReadDeadline(time.Time{}); err != nil {
		return nil, nil, errors.Join(err, p.close(), child.Close())
	}
	return p, child, nil
}

// read takes an empty read for the end only when every writer is gone: a
// program may write nothing, which a pipe delivers as a message of no bytes.
func (p *pipeEnd) read(b []byte) (int, error) {
	for {
		n, err := p.f.Read(b)
		if err != io.EOF {
			return n, err
		}
		if _, err := p.buffered(); err != nil {
			return 0, err
		}
	}
}

func (p *pipeEnd) setReadDeadline(t time.Time) error { return p.f.SetReadDeadline(t) }
func (p *pipeEnd) close() error                      { return p.f.Close() }

// A read that is not waiting is told of nothing anyway.
func (p *pipeEnd) quiet() error { return nil }

// The size is asked for when the pipe is made and cannot be changed.
func (p *pipeEnd) grow(int) (int, error) { return 0, nil }

// control runs f on the handle, whatever the deadline.
func (p *pipeEnd) control(f func(h uintptr)) error {
	raw, err := p.f.SyscallConn()
	if err == nil {
		err = raw.Control(f)
	}
	return usable(p.f, err)
}

func (p *pipeEnd) readNow(b []byte) (n int, err error) {
	if cerr := p.control(func(h uintptr) { n, err = windows.PipeReadNow(h, b) }); cerr != nil {
		return 0, cerr
	}
	if errors.Is(err, windows.ErrPipeEmpty) {
		err = ErrWouldBlock
	}
	return n, err
}

func (p *pipeEnd) buffered() (n int, err error) {
	if cerr := p.control(func(h uintptr) { n, err = windows.PipeBuffered(h) }); cerr != nil {
		return 0, cerr
	}
	return n, err
}
