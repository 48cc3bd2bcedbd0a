package ring

import "sync/atomic"

// table finds the chunks of a stream by their id. A slot is nil outside the window.
type table struct {
	slots []atomic.Pointer[chunk]
	lo    atomic.Uint64 // lowest id in it
	hi    atomic.Uint64 // id of the chunk being filled
}

// newTable makes a table that l never overruns: chunks of full size are closed
// with 48 KiB in them, of which a long waiting line may move on, and earlier
// only when an index is full.
func newTable(l Limits) *table {
	want := 2*(l.Bytes+int64(l.Lines))/(fullChunk-minSpace) + int64(l.Lines)/chunkRuns + 16
	n := 16
	for int64(n) < want {
		n *= 2
	}
	return &table{slots: make([]atomic.Pointer[chunk], n)}
}

func (t *table) at(id uint64) *atomic.Pointer[chunk] {
	return &t.slots[id&uint64(len(t.slots)-1)]
}

// pin takes a reference to chunk id; nil when it is gone.
func (t *table) pin(id uint64) *chunk {
	if c := t.at(id).Load(); c != nil && c.enter(id) {
		return c
	}
	return nil
}

// window is the writer's account of what is kept.
type window struct {
	lines uint64 // lines so far
	floor uint64 // stream index of the first line kept
	text  uint64 // bytes of text before that line
	home  uint64 // id of the chunk with that line
	free  []*chunk
}

// The head word holds the number of lines (44 bits, wrapping) and how many of
// them are kept, so that a reader gets both of one moment.
const (
	keptBits = 20
	keptMask = 1<<keptBits - 1
)

func packHead(lines, kept uint64) uint64 { return lines<<keptBits | kept }

// unpackFloor gives the first line kept according to the head word w. near is a
// number of lines less than 2^43 away from that of w.
func unpackFloor(w, near uint64) uint64 {
	ahead := int64(w-near<<keptBits) >> keptBits
	return near + uint64(ahead) - w&keptMask
}

// begin makes the first chunk.
func (s *Stream) begin() {
	c := newChunk(firstChunk)
	c.first = s.win.lines // not 0 after Load
	t := newTable(s.job.limits)
	t.at(0).Store(c)
	s.cur, s.size = c, fullChunk
	s.table.Store(t)
}

// roll goes on in another chunk and takes the waiting text along. All indexed
// lines are published.
func (s *Stream) roll() {
	old, t := s.cur, s.table.Load()
	tail := s.fill - s.start
	c := s.fresh(max(firstChunk, min(2*len(old.buf), s.size)), tail)
	c.id, c.first, c.text = old.id, old.first, old.text
	if s.n > 0 {
		c.id++
		c.first += uint64(s.n)
		c.text += uint64(s.start - s.n + s.cuts)
		if c.id-t.lo.Load() == uint64(len(t.slots)) {
			s.overrun(t)
		}
	}
	copy(c.buf, old.buf[s.start:s.fill])
	c.fill.Store(uint64(tail))
	c.pub.Store(0)
	c.open()
	t.at(c.id).Store(c)
	t.hi.Store(c.id)
	if c.id == old.id {
		s.recycle(old)
	}
	s.cur, s.n, s.pub, s.runs, s.cuts = c, 0, 0, 0, 0
	s.start, s.fill = 0, tail
}

// fresh gives a chunk of at least size bytes with room behind tail bytes.
func (s *Stream) fresh(size, tail int) *chunk {
	for size < tail+minSpace {
		size *= 2
	}
	if size > s.size {
		size = max(min(size, s.job.limits.MaxLine+fullChunk), tail+minSpace)
	}
	if n := len(s.win.free); n > 0 && size == s.size {
		c := s.win.free[n-1]
		s.win.free = s.win.free[:n-1]
		return c
	}
	return newChunk(size)
}

// recycle keeps a chunk that is out of the table for later, if it can be had
// for the writer alone. A reader still in it leaves it to the collector.
func (s *Stream) recycle(c *chunk) {
	if (len(s.win.free) == 0 || (len(s.win.free)+1)*s.size <= freeRoom) && len(c.buf) == s.size && !c.tight && c.seize() {
		s.win.free = append(s.win.free, c)
	}
}

// overrun gives up the oldest chunk of a full table. The limits leave room, so
// this happens only when chunks were closed early again and again by Shrink.
func (s *Stream) overrun(t *table) {
	next := t.at(t.lo.Load() + 1).Load()
	w := &s.win
	if w.home < next.id {
		w.home, w.floor, w.text = next.id, next.first, next.text
		s.head.Store(packHead(w.lines, w.lines-w.floor))
	}
	s.evict()
}

// advance moves the floor to where the limits put it, with waiting bytes behind
// the newest line. Lines that are indexed but not published count. changed tells
// that the number of lines did.
func (s *Stream) advance(changed bool, waiting int) {
	w, c, l := &s.win, s.cur, &s.job.limits
	if w.lines == w.floor {
		return // there is none to keep
	}
	floor := w.floor
	if w.lines-floor > uint64(l.Lines) {
		floor = w.lines - uint64(l.Lines)
	}
	need := uint64(0) // bytes of text that must lie before the floor
	if all := c.text + uint64(s.start-s.n+s.cuts+waiting); all > uint64(l.Bytes) {
		need = all - uint64(l.Bytes)
	}
	if floor > w.floor || need > w.text {
		s.raise(floor, need)
	} else if !changed {
		return
	}
	s.head.Store(packHead(w.lines, w.lines-w.floor))
}

// raise moves the floor to the lowest line that is not below floor and has need
// bytes of text before it, or to the newest line.
func (s *Stream) raise(floor, need uint64) {
	w, t := &s.win, s.table.Load()
	g, next := t.at(w.home).Load(), (*chunk)(nil)
	for ; w.home < s.cur.id; g = next {
		next = t.at(w.home + 1).Load()
		if next.first == w.lines || next.first > floor && next.text >= need {
			break
		}
		w.home++
	}
	runs, lines := s.runs, s.n
	if g != s.cur {
		runs, lines = g.seen()
	}
	if need > g.text {
		floor = max(floor, g.first+uint64(g.keepFrom(need-g.text, runs, lines)))
	}
	floor = min(max(floor, w.floor), w.lines-1)
	if floor == g.first+uint64(lines) {
		w.home++
		w.floor, w.text = floor, next.text
		return
	}
	w.floor, w.text = floor, g.text+g.textBefore(int(floor-g.first), runs)
}

// evict takes the chunks below the floor out of the table.
func (s *Stream) evict() {
	t := s.table.Load()
	for lo := t.lo.Load(); lo < s.win.home; lo++ {
		t.lo.Store(lo + 1)
		slot := t.at(lo)
		c := slot.Load()
		slot.Store(nil)
		s.recycle(c)
	}
}

// exact gives a copy of the chunk without spare room.
func (c *chunk) exact(fill, lines, runs int) *chunk {
	e := &chunk{
		id: c.id, first: c.first, text: c.text, tight: true, buf: append([]byte(nil), c.buf[:fill]...),
	}
	for p := range e.ends {
		e.ends[p] = clip(c.ends[p], lines, p, endShift)
	}
	for p := range e.runs {
		e.runs[p] = clip(c.runs[p], runs, p, runShift)
	}
	e.fill.Store(uint64(fill))
	e.pub.Store(uint64(runs)<<32 | uint64(lines))
	return e
}

// clip copies what the first n entries of an index use of its page p.
func clip[T any](page []T, n, p int, shift uint) []T {
	used := n - (1<<p-1)<<shift
	if used <= 0 {
		return nil
	}
	return append([]T(nil), page[:min(used, len(page))]...)
}
