package ring

import (
	"strings"
	"unicode/utf8"
)

// After gives the kept lines of sel numbered above cur, oldest first: at most
// limit lines and maxBytes bytes of text as shown, but at least one line if there
// is one. A limit or maxBytes of 0 or less is no bound. A cur above every number
// given out counts as the highest of them.
func (j *Job) After(cur uint64, sel Sel, limit, maxBytes int) Page {
	cur = min(cur, j.seq.Load())
	var r reader
	from, end := r.above(j, sel, cur)
	to := end
	if limit > 0 || maxBytes > 0 {
		to = r.forward(from, end, limit, maxBytes)
	}
	p := Page{Lines: r.collect(from, to), More: to != end, Next: max(cur, r.bound)}
	if p.More {
		p.Next = p.Lines[len(p.Lines)-1].Seq
	}
	p.Loss = r.close(sel)
	return p
}

// Tail gives the newest n kept lines of sel, oldest first, or as many of the
// newest as have at most maxBytes bytes of text as shown, but at least one line if
// there is one. A maxBytes of 0 or less is no bound; an n of 0 or less gives no line.
func (j *Job) Tail(n int, sel Sel, maxBytes int) Page {
	var r reader
	low, end := r.newest(j, sel, max(n, 0))
	from := r.backward(low, end, n, maxBytes)
	p := Page{Lines: r.collect(from, end), Next: r.bound}
	for k := range r.views {
		p.More = p.More || from[k] > r.views[k].floor
	}
	p.Loss = r.close(sel)
	return p
}

// reader is one read over the selected streams. Indexes of lines are those of
// their stream.
type reader struct {
	views [2]view
	bound uint64 // no line above it is shown
}

// lapped is how often a read over both streams looks again when every kept line
// of a stream is newer than the bound it took first.
const lapped = 3

// open takes the bound, then opens the views: every line at or below the bound
// is in them unless it was evicted.
func (r *reader) open(j *Job, sel Sel) {
	sel &= SelBoth
	for try := 0; ; try++ {
		r.bound = j.Head(sel)
		again := false
		for k := range r.views {
			if v := &r.views[k]; sel.has(Kind(k)) {
				v.open(&j.streams[k])
				if v.n == 0 {
					continue
				}
				if sel != SelBoth {
					r.bound = v.seq(v.head - 1)
					continue
				}
				for v.oldest().run(0).seq > r.bound && v.down() {
				}
				again = again || v.floor > 0 && v.seq(v.low()) > r.bound
			}
		}
		if !again || try == lapped {
			return
		}
		for k := range r.views {
			r.views[k].close()
		}
	}
}

// close lets go of everything and gives what the selected streams lost.
func (r *reader) close(sel Sel) (loss [2]Loss) {
	for k := range r.views {
		if sel.has(Kind(k)) {
			loss[k] = r.views[k].loss()
			r.views[k].close()
		}
	}
	return loss
}

// above opens the lines numbered above cur.
func (r *reader) above(j *Job, sel Sel, cur uint64) (from, end [2]uint64) {
	r.open(j, sel)
	for k := range r.views {
		v := &r.views[k]
		for v.n > 0 && v.oldest().run(0).seq > cur+1 && v.down() {
		}
		from[k] = v.after(cur)
		end[k] = max(from[k], v.after(r.bound))
	}
	return from, end
}

// newest opens at least the newest n kept lines of each stream.
func (r *reader) newest(j *Job, sel Sel, n int) (low, end [2]uint64) {
	r.open(j, sel)
	for k := range r.views {
		v := &r.views[k]
		for v.after(r.bound)-v.low() < uint64(n) && v.down() {
		}
		low[k], end[k] = v.low(), v.after(r.bound)
	}
	return low, end
}

// spots stands at the given lines, where there is one before end.
func (r *reader) spots(s *[2]spot, at, end [2]uint64) {
	for k := range r.views {
		if at[k] < end[k] {
			s[k].seek(&r.views[k], at[k])
		}
	}
}

// forward gives the end of the oldest lines from from that are within the bounds.
func (r *reader) forward(from, end [2]uint64, limit, maxBytes int) (to [2]uint64) {
	var s [2]spot
	r.spots(&s, from, end)
	to = from
	for n, size := 0, 0; to != end && (limit <= 0 || n < limit); n++ {
		k := older(&s, to, end)
		if maxBytes > 0 {
			size += s[k].size()
			if n > 0 && size > maxBytes {
				break
			}
		}
		if to[k]++; to[k] < end[k] {
			s[k].next(&r.views[k])
		}
	}
	return to
}

// older gives the stream whose line at to comes first; one of them has a line.
func older(s *[2]spot, to, end [2]uint64) int {
	if to[1] == end[1] || to[0] < end[0] && s[0].seq() < s[1].seq() {
		return 0
	}
	return 1
}

// backward gives the start of the newest lines before end that are within the bounds.
func (r *reader) backward(low, end [2]uint64, limit, maxBytes int) (from [2]uint64) {
	var s [2]spot
	for k := range r.views {
		if low[k] < end[k] {
			s[k].seek(&r.views[k], end[k]-1)
		}
	}
	from = end
	for n, size := 0, 0; from != low && n < limit; n++ {
		k := 1
		if from[1] == low[1] || from[0] > low[0] && s[0].seq() > s[1].seq() {
			k = 0
		}
		if maxBytes > 0 {
			size += s[k].size()
			if n > 0 && size > maxBytes {
				break
			}
		}
		if from[k]--; from[k] > low[k] {
			s[k].prev(&r.views[k])
		}
	}
	return from
}

// collect copies the lines between from and to: one allocation for all text, one
// for the lines, and one for each line that needed cleaning.
func (r *reader) collect(from, to [2]uint64) []Line {
	count := int(to[0] - from[0] + to[1] - from[1])
	if count == 0 {
		return nil
	}
	var (
		text  strings.Builder
		at    [2]int // offset in text of each stream's next line
		size  int
		valid = true
	)
	for k := range r.views {
		at[k] = size
		n, cuts := r.views[k].extent(from[k], to[k])
		size += n
		valid = valid && !cuts
	}
	text.Grow(size)
	for k := range r.views {
		r.views[k].copy(&text, from[k], to[k])
	}
	all := text.String()
	// Without cut lines every line ends in LF, so all being valid makes each valid.
	valid = valid && utf8.ValidString(all)
	var s [2]spot
	r.spots(&s, from, to)
	lines := make([]Line, count)
	for i := range lines {
		k := older(&s, from, to)
		p := &s[k]
		raw := all[at[k] : at[k]+p.end-p.start]
		at[k] += len(raw)
		if p.run.term == Newline {
			raw = strings.TrimSuffix(raw[:len(raw)-1], "\r")
		}
		if !valid {
			raw = clean(raw)
		}
		lines[i] = Line{Seq: p.seq(), Kind: Kind(k), Term: p.run.term, TimeNS: p.run.time, Text: raw}
		if from[k]++; from[k] < to[k] {
			p.next(&r.views[k])
		}
	}
	return lines
}

// span gives the bytes of the lines from..to that pinned chunk p holds.
func (v *view) span(p int, from, to uint64) []byte {
	c := v.pin(p)
	last := c.first + uint64(v.lines(p))
	from, to = max(from, c.first), min(to, last)
	if from >= to {
		return nil
	}
	return c.buf[c.start(int(from-c.first)):c.end(int(to-c.first-1))]
}

// extent gives the number of bytes of the lines from..to, and whether their
// chunks have lines without a newline.
func (v *view) extent(from, to uint64) (size int, cuts bool) {
	for p := range v.n {
		if b := v.span(p, from, to); len(b) > 0 {
			size += len(b)
			runs, _ := v.pin(p).seen()
			cuts = cuts || v.pin(p).run(runs-1).through() > 0
		}
	}
	return size, cuts
}

// copy appends the bytes of the lines from..to.
func (v *view) copy(b *strings.Builder, from, to uint64) {
	for p := v.n - 1; p >= 0; p-- {
		b.Write(v.span(p, from, to))
	}
}
