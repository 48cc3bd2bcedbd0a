package wire

import (
	"bytes"
	"errors"
	"io"
)

const (
	maxLine  = 16 << 20 // bytes of one message, without its newline
	readSize = 64 << 10
)

// errLong says that a line was longer than allowed and has been skipped whole.
var errLong = errors.New("line is too long")

// lines cuts a byte stream at its newlines. It holds at most max+readSize
// bytes, however long a line goes on.
type lines struct {
	in         io.Reader
	max        int
	buf        []byte
	start, end int // unread bytes of buf
	seen       int // bytes after start known to hold no newline
	skipping   bool
	err        error
}

func newLines(in io.Reader) *lines {
	return &lines{in: in, max: maxLine, buf: make([]byte, readSize)}
}

// next returns the next line without its newline; a last line may lack one. It
// is valid until the call after this. errLong stands in for a line over the
// limit; other errors are those of the reader, io.EOF at the end.
func (l *lines) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.start+l.seen:l.end], '\n'); i >= 0 {
			n := l.seen + i
			line := l.buf[l.start : l.start+n]
			l.start, l.seen = l.start+n+1, 0
			if l.skipping {
				l.skipping = false
				return nil, errLong
			}
			if n > l.max {
				return nil, errLong
			}
			return line, nil
		}
		l.seen = l.end - l.start
		if l.skipping || l.seen > l.max {
			l.skipping = true
			l.start, l.end, l.seen = 0, 0, 0
			l.shrink()
		}
		if l.err != nil {
			return l.last()
		}
		l.fill()
	}
}

// last returns what stands before the end of the stream.
func (l *lines) last() ([]byte, error) {
	line, long := l.buf[l.start:l.end], l.skipping
	l.start, l.seen, l.skipping = l.end, 0, false
	switch {
	case long:
		return nil, errLong
	case len(line) > 0:
		return line, nil
	}
	return nil, l.err
}

// fill reads once, after making room.
func (l *lines) fill() {
	if l.start == l.end {
		l.start, l.end = 0, 0
		l.shrink()
	} else if len(l.buf)-l.end < readSize/2 {
		size := len(l.buf)
		if l.end-l.start > size/2 {
			if size *= 4; size >= l.max {
				size = l.max + readSize
			}
		}
		buf := l.buf
		if size != len(buf) {
			buf = make([]byte, size)
		}
		l.end = copy(buf, l.buf[l.start:l.end])
		l.start, l.buf = 0, buf
	}
	n, err := l.in.Read(l.buf[l.end:])
	l.end += n
	l.err = err
}

// shrink gives back what a long line took, once the buffer is empty.
func (l *lines) shrink() {
	if len(l.buf) > 2*readSize {
		l.buf = make([]byte, readSize)
	}
}
