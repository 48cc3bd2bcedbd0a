package daemon

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A line that begins with NUL is the package's own, in a stream whose lines are
// the application's: endLine says that the client sends no more, byeLine that
// the daemon does, and how many lines it had taken.
const (
	ownLine = 0
	endLine = "\x00end\n"
	byeLine = "\x00bye "
)

// byeLimit bounds the goodbye to a client that does not read.
const byeLimit = time.Second

// streamConn is the daemon's end of a stream. It hands out whole lines: at the
// start of a drain the input ends after one, so that the client can be told
// which of its lines were taken.
type streamConn struct {
	net.Conn
	r     *bufio.Reader
	drain *drain
	gone  context.CancelFunc // called when the client is known to be gone
	done  chan struct{}
	once  sync.Once

	// What follows belongs to the reader.
	lines int  // handed out whole
	mid   bool // inside a line
	ended bool

	wmu  sync.Mutex
	wmid bool
}

func newStreamConn(c net.Conn, r *bufio.Reader, d *drain, gone context.CancelFunc) *streamConn {
	s := &streamConn{Conn: c, r: r, drain: d, gone: gone, done: make(chan struct{})}
	go func() {
		select {
		case <-d.begun:
			// Best effort: wakes a Read, which then looks at the drain.
			_ = c.SetReadDeadline(time.Unix(1, 0))
		case <-s.done:
		}
	}()
	return s
}

func (s *streamConn) draining() bool {
	select {
	case <-s.drain.begun:
		return true
	default:
		return false
	}
}

// SetReadDeadline is the application's way to wake its own Read.
func (s *streamConn) SetReadDeadline(t time.Time) error { return s.Conn.SetReadDeadline(t) }

func (s *streamConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if s.ended || s.draining() && !s.mid {
			s.ended = true
			return 0, io.EOF
		}
		first, err := s.r.Peek(1)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && s.draining() {
				if s.mid {
					err = s.Conn.SetReadDeadline(time.Now().Add(s.drain.left()))
				} else {
					continue
				}
				if err == nil && s.drain.left() > 0 {
					continue
				}
				err = io.ErrUnexpectedEOF
			}
			if errors.Is(err, io.EOF) || !errors.Is(err, os.ErrDeadlineExceeded) {
				s.gone()
			}
			s.ended = true
			return 0, err
		}
		if !s.mid && first[0] == ownLine {
			return s.own()
		}
		return s.take(p), nil
	}
}

// own reads one of our lines. After the end nothing comes but the connection's
// own end, which is watched: the client may die while it waits for replies.
func (s *streamConn) own() (int, error) {
	s.ended = true
	line, err := readLine(s.r, len(endLine))
	if err != nil || string(line) != endLine[:len(endLine)-1] {
		s.gone()
		return 0, fmt.Errorf("%w: unknown line of the package's own", errForeign)
	}
	go func() {
		// Best effort: whatever ends the reading, the client is gone; the drain
		// wakes it once and says nothing about the client.
		for {
			_, err := io.Copy(io.Discard, s.r)
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if s.Conn.SetReadDeadline(time.Time{}) != nil {
				break
			}
		}
		s.gone()
	}()
	return 0, io.EOF
}

// take hands out what is there, up to a line of our own, and in a drain up to
// the end of the line.
func (s *streamConn) take(p []byte) int {
	b, _ := s.r.Peek(min(s.r.Buffered(), len(p))) // what is buffered comes without an error
	if s.draining() {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[:i+1]
		}
	} else if i := bytes.Index(b, []byte("\n\x00")); i >= 0 {
		b = b[:i+1]
	}
	n := copy(p, b)
	s.lines += bytes.Count(b, []byte("\n"))
	s.mid = b[len(b)-1] != '\n'
	_, _ = s.r.Discard(n) // of what was just looked at
	return n
}

func (s *streamConn) Write(p []byte) (int, error) {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	n, err := s.Conn.Write(p)
	if n > 0 {
		s.wmid = p[n-1] != '\n'
	}
	return n, err
}

// bye tells the client how many of its lines were taken, unless the application
// has left a line unfinished.
func (s *streamConn) bye() {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	if s.wmid {
		return
	}
	// Best effort: a client that is gone, or does not read, is told nothing.
	_ = s.Conn.SetWriteDeadline(time.Now().Add(byeLimit))
	_, _ = fmt.Fprintf(s.Conn, "%s%d\n", byeLine, s.lines)
}

func (s *streamConn) Close() error {
	s.once.Do(func() { close(s.done) })
	return s.Conn.Close()
}

// clientConn is the client's end of a stream.
type clientConn struct {
	net.Conn
	r     *bufio.Reader
	mid   bool
	ended bool

	wmu sync.Mutex
}

func newClientConn(l *link) *clientConn { return &clientConn{Conn: l.conn, r: l.r} }

// Read gives the application's bytes; the daemon's goodbye is the end.
func (c *clientConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.ended {
		return 0, io.EOF
	}
	first, err := c.r.Peek(1)
	if err != nil {
		return 0, err
	}
	if !c.mid && first[0] == ownLine {
		c.ended = true
		return 0, io.EOF
	}
	b, _ := c.r.Peek(min(c.r.Buffered(), len(p))) // what is buffered comes without an error
	if i := bytes.Index(b, []byte("\n\x00")); i >= 0 {
		b = b[:i+1]
	}
	n := copy(p, b)
	c.mid = b[len(b)-1] != '\n'
	_, _ = c.r.Discard(n) // of what was just looked at
	return n, nil
}

// CloseWrite tells the daemon that no more lines come. Replies still do. It must
// follow a whole line.
func (c *clientConn) CloseWrite() error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_, err := io.WriteString(c.Conn, endLine)
	return err
}
