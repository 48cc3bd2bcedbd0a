package job

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-dev/belfry/ring"
)

// The bounds of a reply budget, in bytes of compact JSON.
const (
	DefaultBudget = 12_288
	MinBudget     = 512
	MaxBudget     = 64 << 20

	minClip = 64 // text bytes that a reply always has room for
)

// splitMark ends a piece of a line that was cut because it was too long.
const splitMark = "…[line exceeds 1 MiB, continues]"

// Query selects lines.
type Query struct {
	After uint64 // lines with a higher seq
	Sel   ring.Sel
	Limit int // most lines; 0: none
	// Budget is the most bytes that the page may take as compact JSON, without
	// HTML escaping; 0 means DefaultBudget, others are clamped. Used is how much
	// of it the rest of the reply takes.
	Budget, Used int
	Timestamps   bool
	Pending      bool // with the text that waits for its newline
}

// Line is one line, or a piece of one.
type Line struct {
	Seq       uint64
	Kind      ring.Kind
	Text      string
	Partial   bool      // no newline ended it
	Clipped   bool      // cut to the budget
	TextBytes int       // of the whole text, when clipped
	Time      time.Time // when it was read; zero unless asked for
	// Split says that the stream's next line goes on where this one stops, which
	// the end of Text tells as well.
	Split bool
}

// Whole is the text as the job wrote it, without a word about a split.
func (l *Line) Whole() string {
	if l.Split {
		return strings.TrimSuffix(l.Text, splitMark)
	}
	return l.Text
}

// Page is a contiguous part of a job's output.
type Page struct {
	Lines []Line
	// Next is the cursor to go on from: the last seq returned when the page was
	// cut, else the highest ever assigned on the selection.
	Next uint64
	// Truncated says that the page was cut or the selection ever lost a line.
	Truncated bool
	Loss      [2]ring.Loss // by ring.Kind; zero outside the selection
	Pending   [2]string    // by ring.Kind, when asked for
}

// Output gives the lines after a cursor, oldest first.
func (j *Job) Output(q Query) Page {
	q.clamp()
	pending, room := j.pendingText(q)
	lines := room/minEvent + 1
	if q.Limit > 0 {
		lines = min(lines, q.Limit)
	}
	rp := j.out().After(q.After, q.Sel, lines, room)
	p := pageOf(rp, q, pending)
	room -= p.frame()
	for i, l := range rp.Lines {
		e := lineOf(l, q)
		cost := e.cost()
		if cost > room && i > 0 {
			p.Truncated = true
			p.Next = p.Lines[i-1].Seq
			break
		}
		if cost > room {
			e.clip(room)
			if len(rp.Lines) > 1 {
				p.Truncated, p.Next = true, e.Seq
			}
			p.Lines = append(p.Lines, e)
			break
		}
		room -= cost
		p.Lines = append(p.Lines, e)
	}
	return p
}

// Tail gives the newest n lines that fit, oldest first.
func (j *Job) Tail(n int, q Query) Page {
	q.clamp()
	pending, room := j.pendingText(q)
	rp := j.out().Tail(min(n, room/minEvent+1), q.Sel, room)
	p := pageOf(rp, q, pending)
	room -= p.frame()
	first := len(rp.Lines)
	lines := make([]Line, len(rp.Lines))
	for i := len(rp.Lines) - 1; i >= 0; i-- {
		e := lineOf(rp.Lines[i], q)
		if cost := e.cost(); cost > room {
			if first < len(rp.Lines) {
				p.Truncated = true
				break
			}
			e.clip(room)
		}
		room -= e.cost()
		lines[i] = e
		first = i
	}
	p.Truncated = p.Truncated || first > 0
	p.Lines = lines[first:]
	return p
}

func (q *Query) clamp() {
	if q.Budget == 0 {
		q.Budget = DefaultBudget
	}
	q.Budget = min(max(q.Budget, MinBudget), MaxBudget)
	if q.Sel == 0 {
		q.Sel = ring.SelBoth
	}
}

// pendingText gives the waiting text, bounded to a quarter of the budget, and
// the room that is left for lines, at least 1: where the rest of the reply
// takes the whole budget, one clipped line must do. The end of the text is
// kept: that is where a prompt or a progress bar is.
func (j *Job) pendingText(q Query) (text [2]string, room int) {
	room = q.Budget - q.Used
	if !q.Pending {
		return text, max(room, 1)
	}
	for _, k := range []ring.Kind{ring.Stdout, ring.Stderr} {
		if q.Sel&k.Sel() == 0 {
			continue
		}
		text[k] = lastFitting(j.out().Pending(k), max(q.Budget/8, minClip))
		if text[k] != "" {
			room -= jsonLen(text[k]) + len(`"stdout":,`)
		}
	}
	return text, max(room-len(`,"pending":{}`), 1)
}

// pageOf makes the page without its lines. Its cursor and loss are those of
// the moment when the ring was read.
func pageOf(rp ring.Page, q Query, pending [2]string) Page {
	p := Page{Next: rp.Next, Truncated: rp.More, Pending: pending}
	for _, k := range []ring.Kind{ring.Stdout, ring.Stderr} {
		if q.Sel&k.Sel() != 0 {
			p.Loss[k] = rp.Loss[k]
			p.Truncated = p.Truncated || rp.Loss[k].Dropped > 0
		}
	}
	return p
}

func lineOf(l ring.Line, q Query) Line {
	e := Line{Seq: l.Seq, Kind: l.Kind, Text: l.Text, Partial: l.Term != ring.Newline}
	if l.Term == ring.Split {
		e.Text += splitMark
		e.Split = true
	}
	if q.Timestamps {
		e.Time = time.Unix(0, l.TimeNS).UTC()
	}
	return e
}

// clip cuts the text at a character boundary so that the line fits in room.
func (e *Line) clip(room int) {
	e.Clipped, e.TextBytes = true, len(e.Text)
	text := e.Text
	e.Text = ""
	e.Text = firstFitting(text, max(room-e.cost(), minClip))
}

// firstFitting gives the longest beginning of s that takes at most n bytes
// inside a JSON string.
func firstFitting(s string, n int) string {
	used := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		used += runeLen(r, size)
		if used > n {
			return s[:i]
		}
		i += size
	}
	return s
}

// lastFitting is firstFitting from the end.
func lastFitting(s string, n int) string {
	used := 0
	for i := len(s); i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		used += runeLen(r, size)
		if used > n {
			return s[i:]
		}
		i -= size
	}
	return s
}
