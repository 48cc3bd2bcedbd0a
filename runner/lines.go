package runner

import (
	"bytes"
	"slices"
)

// Line is one line of a stream as it was read.
type Line struct {
	N    int    // from 1
	Data []byte // without its newline; valid until the next call
	Long bool   // more than MaxLine bytes: Data holds the first of them
	Cut  bool   // the stream ends without a newline
}

// Lines cuts a stream into lines, in bounded memory whatever it holds.
type Lines struct {
	n    int
	rest []byte // of a line whose end was not read yet, MaxLine+1 bytes at most
}

// Feed takes the next bytes of the stream and calls each for every line that is
// complete with them. It ends with the first error of each.
func (l *Lines) Feed(b []byte, each func(Line) error) error {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.keep(b)
			return nil
		}
		l.keep(b[:i])
		b = b[i+1:]
		if err := l.give(false, each); err != nil {
			return err
		}
	}
}

// End calls each for what is left at the end of the stream, if there is any.
func (l *Lines) End(each func(Line) error) error {
	if len(l.rest) == 0 {
		return nil
	}
	return l.give(true, each)
}

func (l *Lines) keep(b []byte) {
	l.rest = append(l.rest, b[:min(len(b), MaxLine+1-len(l.rest))]...)
}

func (l *Lines) give(cut bool, each func(Line) error) error {
	l.n++
	line := Line{N: l.n, Data: l.rest, Cut: cut, Long: len(l.rest) > MaxLine}
	if line.Long {
		line.Data = l.rest[:MaxLine]
	}
	err := each(line)
	l.rest = slices.Delete(l.rest, 0, len(l.rest))
	return err
}

// Check says why a line is no event of the published schema; nil if it is one.
func (l Line) Check() error {
	switch {
	case l.Long:
		return errLong
	case l.Cut:
		if err := Validate(l.Data); err != nil {
			return errCut
		}
		return nil
	}
	return Validate(l.Data)
}
