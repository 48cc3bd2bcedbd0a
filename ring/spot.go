package ring

// spot stands on one line of a view and moves line by line. It does not hold the
// view, which would move that to the heap.
type spot struct {
	c     *chunk
	p     int // index of c among the pins
	i     int // the line in c
	lines int // lines of c in the view
	runs  int
	r     int // the run that holds the line
	run   run
	stop  int // index behind the run's last line
	start int // offset of the line in c
	end   int // offset behind its terminator
}

// seek goes to a pinned line.
func (s *spot) seek(v *view, line uint64) {
	p := v.holder(line)
	s.into(v, p, int(line-v.pin(p).first))
}

func (s *spot) into(v *view, p, i int) {
	s.c, s.p, s.i, s.lines = v.pin(p), p, i, v.lines(p)
	s.runs, _ = s.c.seen()
	s.enter(s.c.findRun(i, s.runs))
	s.start, s.end = s.c.start(i), s.c.end(i)
}

func (s *spot) enter(r int) {
	s.r, s.run, s.stop = r, *s.c.run(r), s.lines
	if r+1 < s.runs {
		s.stop = min(s.lines, int(s.c.run(r+1).first))
	}
}

// next goes to the following line, which must be in the view.
func (s *spot) next(v *view) {
	s.i++
	if s.i == s.lines {
		s.into(v, s.p-1, 0)
		return
	}
	s.start, s.end = s.end, s.c.end(s.i)
	if s.i == s.stop {
		s.enter(s.r + 1)
	}
}

// prev goes to the line before, which must be pinned.
func (s *spot) prev(v *view) {
	if s.i == 0 {
		s.into(v, s.p+1, v.lines(s.p+1)-1)
		return
	}
	s.i--
	s.start, s.end = s.c.start(s.i), s.start
	if s.i < int(s.run.first) {
		s.enter(s.r - 1)
	}
}

func (s *spot) seq() uint64 { return s.run.seq + uint64(s.i-int(s.run.first)) }

// size gives the length of the line's cleaned text.
func (s *spot) size() int { return textLen(textOf(s.c.buf[s.start:s.end], s.run.term)) }
