package job

import (
	"strconv"
	"unicode/utf8"
)

// The sizes below are those of encoding/json without HTML escaping, so that a
// page can be filled to its budget before anything is encoded.

// minEvent is the least that one line takes in a reply.
const minEvent = len(`{"seq":1,"stream":"stdout","text":""},`)

// runeLen is how many bytes a character takes inside a JSON string.
func runeLen(r rune, size int) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return 2
	case r < 0x20, r == '\u2028', r == '\u2029':
		return 6
	case r == utf8.RuneError && size == 1:
		return 6 // written as \ufffd
	}
	return size
}

// jsonLen is how many bytes s takes as a JSON string, quotes included.
func jsonLen(s string) int {
	n := 2
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n += runeLen(r, size)
		i += size
	}
	return n
}

func digits(n uint64) int { return len(strconv.AppendUint(make([]byte, 0, 20), n, 10)) }

// cost is how many bytes the line takes in a reply, its comma included.
func (e *Line) cost() int {
	n := len(`{"seq":,"stream":"stdout","text":},`) + digits(e.Seq) + jsonLen(e.Text)
	if e.Partial {
		n += len(`,"partial":true`)
	}
	if e.Clipped {
		n += len(`,"clipped":true,"text_bytes":`) + digits(uint64(e.TextBytes))
	}
	if !e.Time.IsZero() {
		n += len(`,"time":"2006-01-02T15:04:05.000Z"`)
	}
	return n
}

// frame is how many bytes a page takes beside its lines and pending text,
// counted as if both streams were selected and the page cut.
func (p *Page) frame() int {
	n := len(`{"events":[],"next_cursor":,"truncated":true}`) + digits(p.Next)
	lost := false
	for _, l := range p.Loss {
		if l.Dropped > 0 {
			lost = true
			n += len(`"stdout":{"dropped":,"droppedBeforeCursor":},`) + digits(l.Dropped) + digits(l.FirstKept)
		}
	}
	if lost {
		n += len(`,"dropped":{}`)
	}
	return n
}
