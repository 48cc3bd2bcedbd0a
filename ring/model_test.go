package ring

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// modelLine is a line as the model keeps it: raw bytes, terminator off.
type modelLine struct {
	seq  uint64
	term Term
	raw  []byte
	time int64
}

// modelStream is a stream that does everything a byte and a line at a time and
// forgets nothing.
type modelStream struct {
	lines       []modelLine
	floor       int
	waiting     []byte
	bytes, lost uint64
	gone        bool
}

type model struct {
	limits  Limits
	seq     uint64
	streams [2]modelStream
}

func (m *model) add(s *modelStream, raw []byte, t Term, now int64) {
	m.seq++
	s.lines = append(s.lines, modelLine{m.seq, t, bytes.Clone(raw), now})
}

func (m *model) commit(k Kind, b []byte, now int64) {
	s := &m.streams[k]
	s.bytes += uint64(len(b))
	if len(b) == 0 {
		return
	}
	if s.gone {
		s.lost++
		return
	}
	for _, c := range b {
		if c == '\n' {
			m.add(s, s.waiting, Newline, now)
			s.waiting = nil
			continue
		}
		s.waiting = append(s.waiting, c)
		if len(s.waiting) > m.limits.MaxLine {
			at := modelCut(s.waiting, m.limits.MaxLine)
			m.add(s, s.waiting[:at], Split, now)
			s.waiting = bytes.Clone(s.waiting[at:])
		}
	}
	m.evict(s)
}

func (m *model) evict(s *modelStream) {
	text := len(s.waiting)
	from := len(s.lines)
	for from > s.floor {
		l := s.lines[from-1]
		text += len(l.raw)
		if from < len(s.lines) && (text > int(m.limits.Bytes) || len(s.lines)-from >= m.limits.Lines) {
			break
		}
		from--
	}
	s.floor = from
}

func (m *model) finish(k Kind, now int64) {
	if s := &m.streams[k]; len(s.waiting) > 0 && !s.gone {
		m.add(s, s.waiting, End, now)
		s.waiting = nil
		m.evict(s)
	}
}

func (m *model) reclaim(k Kind) {
	s := &m.streams[k]
	if s.gone {
		return
	}
	if len(s.waiting) > 0 {
		s.lost++
	}
	s.gone, s.waiting, s.floor = true, nil, len(s.lines)
}

// modelCut says where a line that is longer than max is cut.
func modelCut(b []byte, max int) int {
	for at := max - 1; at >= max-3; at-- {
		seq := b[at : max+1]
		if !utf8.RuneStart(seq[0]) {
			continue
		}
		if _, n := utf8.DecodeRune(seq); !utf8.FullRune(seq) || n == len(seq) {
			return at
		}
		break
	}
	return max
}

// whatwg decodes as the state machine of the WHATWG encoding standard does.
func whatwg(b []byte) string {
	var out []byte
	need, seen, lower, upper, from := 0, 0, byte(0x80), byte(0xBF), 0
	bad := func() {
		out = append(out, replacement...)
		need, seen, lower, upper = 0, 0, 0x80, 0xBF
	}
	for i := 0; i < len(b); i++ {
		c := b[i]
		if need == 0 {
			from = i
			switch {
			case c <= 0x7F:
				out = append(out, c)
			case c >= 0xC2 && c <= 0xDF:
				need = 1
			case c >= 0xE0 && c <= 0xEF:
				need = 2
				if c == 0xE0 {
					lower = 0xA0
				} else if c == 0xED {
					upper = 0x9F
				}
			case c >= 0xF0 && c <= 0xF4:
				need = 3
				if c == 0xF0 {
					lower = 0x90
				} else if c == 0xF4 {
					upper = 0x8F
				}
			default:
				bad()
			}
			continue
		}
		if c < lower || c > upper {
			bad()
			i-- // the byte is looked at again
			continue
		}
		lower, upper = 0x80, 0xBF
		if seen++; seen == need {
			out = append(out, b[from:i+1]...)
			need, seen = 0, 0
		}
	}
	if need > 0 {
		bad()
	}
	return string(out)
}

func (l *modelLine) text() string {
	raw := l.raw
	if l.term == Newline {
		raw = bytes.TrimSuffix(raw, []byte("\r"))
	}
	return whatwg(raw)
}

// merged gives the kept lines of sel in order.
func (m *model) merged(sel Sel) (lines []modelLine, kinds []Kind) {
	at := [2]int{m.streams[0].floor, m.streams[1].floor}
	for {
		best := -1
		for k := range m.streams {
			s := &m.streams[k]
			if sel.has(Kind(k)) && at[k] < len(s.lines) && (best < 0 || s.lines[at[k]].seq < m.streams[best].lines[at[best]].seq) {
				best = k
			}
		}
		if best < 0 {
			return lines, kinds
		}
		lines = append(lines, m.streams[best].lines[at[best]])
		kinds = append(kinds, Kind(best))
		at[best]++
	}
}

func (m *model) head(sel Sel) (h uint64) {
	if sel == SelBoth {
		return m.seq
	}
	for k := range m.streams {
		if s := &m.streams[k]; sel.has(Kind(k)) && len(s.lines) > 0 {
			h = max(h, s.lines[len(s.lines)-1].seq)
		}
	}
	return h
}

func (m *model) loss(k Kind) Loss {
	s := &m.streams[k]
	l := Loss{Dropped: uint64(s.floor) + s.lost}
	if s.floor < len(s.lines) {
		l.FirstKept = s.lines[s.floor].seq
	} else if len(s.lines) > 0 {
		l.FirstKept = s.lines[len(s.lines)-1].seq
	}
	return l
}

func (m *model) check(p Page, lines []modelLine, kinds []Kind, more bool, next uint64, sel Sel) error {
	if len(p.Lines) != len(lines) || p.More != more || p.Next != next {
		return fmt.Errorf("%d lines, more %v, next %d; want %d, %v, %d", len(p.Lines), p.More, p.Next, len(lines), more, next)
	}
	for i, l := range p.Lines {
		w := &lines[i]
		if l.Seq != w.seq || l.Kind != kinds[i] || l.Term != w.term || l.Text != w.text() {
			return fmt.Errorf("line %d is %v %v %v %.60q; want %v %v %v %.60q", i, l.Seq, l.Kind, l.Term, l.Text, w.seq, kinds[i], w.term, w.text())
		}
		if early := w.time - l.TimeNS; early < 0 || early >= joinWithin {
			return fmt.Errorf("line %d: time is %d ns early", i, early)
		}
	}
	for k := range p.Loss {
		want := Loss{}
		if sel.has(Kind(k)) {
			want = m.loss(Kind(k))
		}
		if p.Loss[k] != want {
			return fmt.Errorf("loss of %v is %+v; want %+v", Kind(k), p.Loss[k], want)
		}
	}
	return nil
}

func (m *model) after(j *Job, cur uint64, sel Sel, limit, maxBytes int) error {
	lines, kinds := m.merged(sel)
	at := 0
	for at < len(lines) && lines[at].seq <= cur {
		at++
	}
	lines, kinds = lines[at:], kinds[at:]
	n, size := 0, 0
	for n < len(lines) && (limit <= 0 || n < limit) {
		size += len(lines[n].text())
		if maxBytes > 0 && n > 0 && size > maxBytes {
			break
		}
		n++
	}
	next := max(min(cur, m.seq), m.head(sel))
	if n < len(lines) {
		next = lines[n-1].seq
	}
	err := m.check(j.After(cur, sel, limit, maxBytes), lines[:n], kinds[:n], n < len(lines), next, sel)
	if err != nil {
		return fmt.Errorf("After(%d, %d, %d, %d): %w", cur, sel, limit, maxBytes, err)
	}
	return nil
}

func (m *model) tail(j *Job, n int, sel Sel, maxBytes int) error {
	lines, kinds := m.merged(sel)
	at, size := len(lines), 0
	for at > 0 && len(lines)-at < n {
		size += len(lines[at-1].text())
		if maxBytes > 0 && at < len(lines) && size > maxBytes {
			break
		}
		at--
	}
	err := m.check(j.Tail(n, sel, maxBytes), lines[at:], kinds[at:], at > 0, m.head(sel), sel)
	if err != nil {
		return fmt.Errorf("Tail(%d, %d, %d): %w", n, sel, maxBytes, err)
	}
	return nil
}

func (m *model) counts(j *Job) error {
	for k := range m.streams {
		s := &m.streams[k]
		want := Stat{Lines: uint64(len(s.lines)), Bytes: s.bytes, Pending: uint64(len(s.waiting)), Loss: m.loss(Kind(k))}
		if got := j.Stat(Kind(k)); got != want {
			return fmt.Errorf("stat of %v is %+v; want %+v", Kind(k), got, want)
		}
		pend := s.waiting
		for n := 1; n <= 3 && n <= len(pend); n++ {
			if tail := pend[len(pend)-n:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					pend = pend[:len(pend)-n]
				}
				break
			}
		}
		if got := j.Pending(Kind(k)); got != whatwg(pend) {
			return fmt.Errorf("pending of %v is %.60q; want %.60q", Kind(k), got, whatwg(pend))
		}
		if got := j.Head(Kind(k).Sel()); got != m.head(Kind(k).Sel()) {
			return fmt.Errorf("head of %v is %d; want %d", Kind(k), got, m.head(Kind(k).Sel()))
		}
	}
	if got := j.Head(SelBoth); got != m.seq {
		return fmt.Errorf("head of both is %d; want %d", got, m.seq)
	}
	return nil
}
