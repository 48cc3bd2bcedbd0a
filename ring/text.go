package ring

import (
	"strings"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// trimCR takes one CR off the end of the text of a line that LF ended.
func trimCR(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}

// contRange gives the length of the sequence that lead starts and the range of
// its second byte (Unicode 15, table 3-7); length 0: lead starts none.
func contRange(lead byte) (n int, lo, hi byte) {
	switch {
	case lead < 0xC2:
		return 0, 0, 0
	case lead < 0xE0:
		return 2, 0x80, 0xBF
	case lead == 0xE0:
		return 3, 0xA0, 0xBF
	case lead == 0xED:
		return 3, 0x80, 0x9F
	case lead < 0xF0:
		return 3, 0x80, 0xBF
	case lead == 0xF0:
		return 4, 0x90, 0xBF
	case lead < 0xF4:
		return 4, 0x80, 0xBF
	case lead == 0xF4:
		return 4, 0x80, 0x8F
	}
	return 0, 0, 0
}

// prefix gives how many bytes at the start of s belong to one character, and
// whether it is whole. An ill-formed start counts its maximal subpart: 1 for a
// byte that starts nothing.
func prefix[T string | []byte](s T) (n int, whole bool) {
	if s[0] < utf8.RuneSelf {
		return 1, true
	}
	want, lo, hi := contRange(s[0])
	if want == 0 {
		return 1, false
	}
	for n = 1; n < want; n++ {
		if n == len(s) || s[n] < lo || s[n] > hi {
			return n, false
		}
		lo, hi = 0x80, 0xBF
	}
	return n, true
}

// clean gives s with each maximal ill-formed sequence as one U+FFFD.
func clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(cleanLen(s))
	for len(s) > 0 {
		n, whole := prefix(s)
		if whole {
			b.WriteString(s[:n])
		} else {
			b.WriteString(replacement)
		}
		s = s[n:]
	}
	return b.String()
}

// cleanLen gives the length of clean(s).
func cleanLen[T string | []byte](s T) int {
	total := 0
	for len(s) > 0 {
		n, whole := prefix(s)
		if whole {
			total += n
		} else {
			total += len(replacement)
		}
		s = s[n:]
	}
	return total
}

// wholeChars gives b without an unfinished but so far well-formed character at its end.
func wholeChars(b []byte) []byte {
	for k := 1; k < utf8.UTFMax && k <= len(b); k++ {
		i := len(b) - k
		if b[i] < utf8.RuneSelf {
			break
		}
		if want, _, _ := contRange(b[i]); want > 0 {
			if n, _ := prefix(b[i:]); n == k && want > k {
				return b[:i]
			}
			break
		}
	}
	return b
}

// cutAt gives where to cut b, at most at max, so that no character is cut.
// len(b) is above max, and only bytes up to b[max] decide: the place does not
// depend on how the stream was read.
func cutAt(b []byte, max int) int {
	for k := 1; k < utf8.UTFMax && k < max; k++ {
		i := max - k
		if b[i] < utf8.RuneSelf {
			break
		}
		if want, _, _ := contRange(b[i]); want > 0 {
			if n, _ := prefix(b[i : max+1]); n == k+1 {
				return i
			}
			break
		}
	}
	return max
}

// textOf gives the text of a line from its bytes, terminator included.
func textOf(b []byte, t Term) []byte {
	if t != Newline {
		return b
	}
	return trimCR(b[:len(b)-1])
}

// textLen gives the length of b as it is shown.
func textLen(b []byte) int {
	if utf8.Valid(b) {
		return len(b)
	}
	return cleanLen(b)
}
