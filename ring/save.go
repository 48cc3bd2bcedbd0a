package ring

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// saveVersion is the first number of what Save writes.
const saveVersion = 1

// ErrSaved is returned by Load for bytes that Save has not written.
var ErrSaved = errors.New("not a saved ring")

// Save writes all that is kept and counted, to the byte. No goroutine may be
// on the writer's side of a stream meanwhile; readers and Reclaim may.
func (j *Job) Save(w io.Writer) error { return j.SaveNewest(w, math.MaxUint64) }

// SaveNewest writes what Save does, but of the lines of each stream no more than
// the newest so many: to whoever loads it the others are dropped.
func (j *Job) SaveNewest(w io.Writer, lines uint64) error {
	b := bufio.NewWriter(w)
	put := func(n ...uint64) {
		for _, v := range n {
			b.Write(binary.AppendUvarint(nil, v)) // the error stays until Flush
		}
	}
	for k := range j.streams {
		j.streams[k].mu.Lock()
		defer j.streams[k].mu.Unlock()
	}
	put(saveVersion, j.seq.Load())
	var r reader
	from, end := r.above(j, SelBoth, 0)
	defer r.close(SelBoth)
	for k := range j.streams {
		from[k] = end[k] - min(end[k]-from[k], lines)
		s := &j.streams[k]
		gone := uint64(0)
		if s.gone {
			gone = 1
		}
		put(gone, s.win.lines, end[k]-from[k], s.lastSeq.Load(), s.bytes.Load(), s.lost.Load())
		r.views[k].save(from[k], end[k], func(l run, text []byte) {
			put(uint64(len(text)), l.seq, uint64(l.time), uint64(l.term))
			b.Write(text)
		})
		put(0) // no more lines
		waiting := []byte(nil)
		if s.cur != nil {
			waiting = s.cur.buf[s.start:s.fill]
		}
		put(uint64(len(waiting)))
		b.Write(waiting)
	}
	return b.Flush()
}

// save hands on the lines from..to as they were written, consecutive ones of
// one run and chunk together.
func (v *view) save(from, to uint64, write func(l run, text []byte)) {
	var s spot
	for from < to {
		s.seek(v, from)
		first, start := s.run, s.start
		first.seq = s.seq()
		stop := min(s.stop, s.i+int(to-from))
		write(first, s.c.buf[start:s.c.end(stop-1)])
		from += uint64(stop - s.i)
	}
}

// saved reads what Save has written. The first mistake stays.
type saved struct {
	r   *bufio.Reader
	err error
}

func (s *saved) number() uint64 {
	if s.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(s.r)
	if err != nil {
		s.err = fmt.Errorf("%w: %w", ErrSaved, err)
	}
	return n
}

// Load makes a job of what Save wrote: with the same limits it shows the same
// pages and counts, and goes on from there. now is that of NewJob. What follows
// in r may have been read as well, unless r is a *bufio.Reader.
func Load(r io.Reader, l Limits, now func() int64) (*Job, error) {
	in := &saved{r: bufio.NewReader(r)}
	if b, ok := r.(*bufio.Reader); ok {
		in.r = b
	}
	j := NewJob(l, now)
	now = j.now
	var at int64
	j.now = func() int64 { return at }
	if v := in.number(); in.err == nil && v != saveVersion {
		return nil, fmt.Errorf("%w: version %d", ErrSaved, v)
	}
	top := in.number()
	for k := range j.streams {
		in.stream(&j.streams[k], top, &at)
	}
	if in.err != nil {
		return nil, in.err
	}
	j.seq.Store(top)
	j.now = now
	return j, nil
}

// stream reads one stream back through the writer's side.
func (in *saved) stream(s *Stream, top uint64, at *int64) {
	gone, lines, kept := in.number(), in.number(), in.number()
	last, count, lost := in.number(), in.number(), in.number()
	if in.err == nil && (gone > 1 || kept > lines || lines > top || last > top || lines > 1<<43) {
		in.err = fmt.Errorf("%w: counts that cannot be", ErrSaved)
	}
	if in.err != nil {
		return
	}
	s.win = window{lines: lines - kept, floor: lines - kept}
	s.lines.Store(s.win.lines)
	for {
		size := in.number()
		if in.err != nil || size == 0 {
			break
		}
		seq, time, term := in.number(), in.number(), in.number()
		if in.err == nil && (seq == 0 || seq > top || Term(term) > End) {
			in.err = fmt.Errorf("%w: a line that cannot be", ErrSaved)
		}
		*at = int64(time)
		s.job.seq.Store(seq - 1)
		s.last.term = End // what was no part of the run before stays apart: times do not add up
		in.text(s, size)
		if Term(term) != Newline {
			s.finish(Term(term))
		}
	}
	in.text(s, in.number())
	if in.err == nil && gone == 0 && (s.win.lines != lines || kept > 0 && s.lastSeq.Load() != last) {
		in.err = fmt.Errorf("%w: lines that do not fit its counts", ErrSaved)
	}
	if gone == 1 {
		s.Reclaim()
		s.win.lines = lines
		s.lines.Store(lines)
	}
	s.lastSeq.Store(last)
	s.bytes.Store(count)
	s.lost.Store(lost)
}

// text commits so many bytes.
func (in *saved) text(s *Stream, size uint64) {
	for size > 0 && in.err == nil {
		space := s.Space()
		space = space[:min(uint64(len(space)), size)]
		if _, err := io.ReadFull(in.r, space); err != nil {
			in.err = fmt.Errorf("%w: %w", ErrSaved, err)
			return
		}
		s.Commit(len(space))
		size -= uint64(len(space))
	}
}
