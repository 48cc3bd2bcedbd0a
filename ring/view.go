package ring

import "bytes"

// view is what a reader holds of one stream: pinned chunks, newest first, each
// with a line or more, and the bounds of one moment. Nothing in it changes until
// close.
type view struct {
	few   [8]*chunk // the first pins: most reads need no more, and allocate none
	rest  []*chunk
	n     int // pins
	table *table
	floor uint64 // stream index of the first line kept
	head  uint64 // stream index behind the newest line
	last  uint64 // without a table: seq of the newest line
	lost  uint64 // without a table: losses that are not lines
}

// open pins the newest line of s. An attempt fails only when the writer has
// closed a chunk meanwhile, so a reader never waits for a writer that stands still.
func (v *view) open(s *Stream) {
	for {
		t := s.table.Load()
		v.table = t
		if t == nil {
			v.head, v.last, v.lost = s.lines.Load(), s.lastSeq.Load(), s.lost.Load()
			v.floor = v.head
			if s.table.Load() == nil { // else the stream has just begun
				return
			}
			continue
		}
		id := t.hi.Load()
		c := t.pin(id)
		if c == nil {
			continue
		}
		_, n := c.seen()
		if n == 0 {
			c.leave()
			if id == 0 {
				v.head, v.floor = 0, 0
				return
			}
			if c = t.pin(id - 1); c == nil {
				continue
			}
			_, n = c.seen()
		}
		v.push(c)
		v.head = c.first + uint64(n)
		// The floor is that of head or a newer one. A newer one may lie above
		// the newest line seen here, which is then shown all the same.
		v.floor = min(unpackFloor(s.head.Load(), v.head), v.head-1)
		return
	}
}

// down pins the next older chunk; false when no older line is kept.
func (v *view) down() bool {
	if v.n == 0 {
		return false
	}
	low := v.oldest()
	if low.first <= v.floor {
		return false
	}
	c := v.table.pin(low.id - 1)
	if c == nil {
		v.floor = low.first // evicted since
		return false
	}
	v.push(c)
	return true
}

func (v *view) close() {
	for p := range v.n {
		v.pin(p).leave()
	}
	v.rest, v.n = nil, 0
}

func (v *view) push(c *chunk) {
	if v.n < len(v.few) {
		v.few[v.n] = c
	} else {
		v.rest = append(v.rest, c)
	}
	v.n++
}

// pin gives pinned chunk p, 0 being the newest.
func (v *view) pin(p int) *chunk {
	if p < len(v.few) {
		return v.few[p]
	}
	return v.rest[p-len(v.few)]
}

func (v *view) oldest() *chunk { return v.pin(v.n - 1) }

// low gives the first line that is kept and pinned.
func (v *view) low() uint64 {
	if v.n == 0 {
		return v.head
	}
	return max(v.floor, v.oldest().first)
}

// lines gives how many lines of pinned chunk p belong to the view.
func (v *view) lines(p int) int {
	if p == 0 {
		return int(v.head - v.pin(0).first)
	}
	return int(v.pin(p-1).first - v.pin(p).first)
}

// holder gives the pinned chunk that has a line, which must be pinned.
func (v *view) holder(line uint64) int {
	p := v.n - 1
	for p > 0 && v.pin(p-1).first <= line {
		p--
	}
	return p
}

// seq gives the number of a pinned line.
func (v *view) seq(line uint64) uint64 {
	return v.pin(v.holder(line)).seq(line)
}

// seq gives the number of a published line of the chunk.
func (c *chunk) seq(line uint64) uint64 {
	i := int(line - c.first)
	runs, _ := c.seen()
	r := c.run(c.findRun(i, runs))
	return r.seq + uint64(i-int(r.first))
}

// after gives the first pinned line numbered above seq, or head.
func (v *view) after(seq uint64) uint64 {
	for p := range v.n {
		if c := v.pin(p); c.run(0).seq <= seq {
			runs, _ := c.seen()
			return max(v.low(), c.first+uint64(c.after(seq, runs, v.lines(p))))
		}
	}
	return v.low()
}

// loss gives what the stream lost up to the view. It may raise the floor to what was
// evicted since, though never above a pinned line.
func (v *view) loss() Loss {
	switch {
	case v.table == nil:
		return Loss{Dropped: v.floor + v.lost, FirstKept: v.last}
	case v.head == 0:
		return Loss{}
	}
	seq := v.floorSeq()
	return Loss{Dropped: v.floor, FirstKept: seq}
}

func (v *view) floorSeq() uint64 {
	low := v.oldest()
	for id := v.table.lo.Load(); v.floor < low.first && id < low.id; {
		c := v.table.pin(id)
		if c == nil {
			lo := v.table.lo.Load()
			if lo <= id {
				break
			}
			id = lo
			continue
		}
		_, n := c.seen()
		if f := max(v.floor, c.first); f < c.first+uint64(n) && f < low.first {
			v.floor = f
			seq := c.seq(f)
			c.leave()
			return seq
		}
		c.leave()
		id++
	}
	v.floor = v.low()
	return v.seq(v.floor)
}

// pending gives the cleaned text that waits for its newline, at most max bytes
// before cleaning.
func (s *Stream) pending(max int) string {
	for {
		t := s.table.Load()
		if t == nil {
			return ""
		}
		c := t.pin(t.hi.Load())
		if c == nil {
			continue
		}
		// What is filled but not split yet may hold newlines: the lines
		// loaded first are the older ones.
		_, n := c.seen()
		b := c.buf[c.start(n):c.fill.Load()]
		if k := bytes.IndexByte(b, '\n'); k >= 0 {
			b = trimCR(b[:k])
		}
		text := string(wholeChars(b[:min(len(b), max)]))
		c.leave()
		return clean(text)
	}
}
