package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// validID says whether v is a string or an integer. A fraction or an exponent
// is refused: no two sides agree on when such numbers are the same.
func validID(v []byte) bool {
	if isString(v) {
		return utf8.Valid(v)
	}
	d := bytes.TrimPrefix(v, []byte("-"))
	for _, c := range d {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(d) > 0
}

// idKey is the form in which two ids are the same if and only if they are
// equal as JSON values: "5" is not 5, "A" is "\u0041". For the common id it
// aliases v.
func idKey(v []byte) []byte {
	if !isString(v) {
		if string(v) == "-0" {
			return v[1:]
		}
		return v
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[:len(v)-1]
	}
	var s string
	if json.Unmarshal(v, &s) != nil || bytes.ContainsRune([]byte(s), utf8.RuneError) {
		return v // a lone surrogate has no decoded form of its own
	}
	return append([]byte{'"'}, s...)
}
