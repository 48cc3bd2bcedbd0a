package value

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown is the most characters of a field on a line for people.
const maxShown = 256

// Human makes a field that others wrote fit for a line on a terminal: control
// and format characters, line and paragraph separators and what is not UTF-8
// become a space each, and what is longer than 256 characters is cut and given
// "...". So no field forges another line, colours the screen or hides a part.
func Human(s string) string { return clean(s, maxShown) }

// Reason is Human for the text of an error that a peer gave: up to 500
// characters.
func Reason(s string) string { return clean(s, 500) }

func clean(s string, limit int) string {
	var b strings.Builder
	n := 0
	for i, c := range s {
		if n == limit {
			return b.String() + "..."
		}
		n++
		_, width := utf8.DecodeRuneInString(s[i:])
		if hidden(c) || unicode.In(c, unicode.Zl, unicode.Zp) || c == utf8.RuneError && width == 1 {
			c = ' '
		}
		b.WriteRune(c)
	}
	return b.String()
}
