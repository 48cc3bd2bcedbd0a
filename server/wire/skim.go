package wire

import (
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// members walks the members of one JSON object. The bytes must be valid JSON;
// on anything else it stops early, but never reads out of bounds. Keys are
// compared exactly: encoding/json ignores case, so the two would disagree
// about what a message says.
type members struct {
	rest []byte
	key  []byte // decoded
	val  []byte // as it stands, without space around it
}

// object starts a walk over the members of v, which has none when v is no object.
func object(v []byte) members {
	v = trimSpace(v)
	if !isObject(v) {
		return members{}
	}
	return members{rest: v[1:]}
}

// next moves to the next member and says whether there is one.
func (m *members) next() bool {
	b := trimSpace(m.rest)
	if len(b) > 0 && b[0] == ',' {
		b = trimSpace(b[1:])
	}
	if len(b) == 0 || b[0] != '"' {
		m.rest = nil
		return false
	}
	n := stringEnd(b)
	key := unquoted(b[:n])
	b = trimSpace(b[n:])
	if len(b) == 0 || b[0] != ':' {
		m.rest = nil
		return false
	}
	b = trimSpace(b[1:])
	n = valueEnd(b)
	if n == 0 {
		m.rest = nil
		return false
	}
	m.key, m.val, m.rest = key, b[:n], b[n:]
	return true
}

// member returns the value of key in the object v, the last one when the key
// stands there twice, or nil.
func member(v []byte, key string) []byte {
	var found []byte
	for m := object(v); m.next(); {
		if string(m.key) == key {
			found = m.val
		}
	}
	return found
}

// Members walks the members of a JSON object that has come through the front,
// in their order and with equal keys each for itself. What is no object has
// none. Keys and values are valid as long as the object is.
func Members(v json.RawMessage) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		for m := object(v); m.next() && yield(m.key, m.val); {
		}
	}
}

// elements walks the elements of one JSON array, under the terms of members.
type elements struct {
	rest []byte
	val  []byte
}

func array(v []byte) elements {
	v = trimSpace(v)
	if len(v) == 0 || v[0] != '[' {
		return elements{}
	}
	return elements{rest: v[1:]}
}

func (e *elements) next() bool {
	b := trimSpace(e.rest)
	if len(b) > 0 && b[0] == ',' {
		b = trimSpace(b[1:])
	}
	n := valueEnd(b)
	if n == 0 {
		e.rest = nil
		return false
	}
	e.val, e.rest = b[:n], b[n:]
	return true
}

func isObject(v []byte) bool { return len(v) > 1 && v[0] == '{' }
func isString(v []byte) bool { return len(v) > 1 && v[0] == '"' }
func isNull(v []byte) bool   { return string(v) == "null" }

// unquoted decodes a JSON string. Without an escape in it the result aliases q.
func unquoted(q []byte) []byte {
	if len(q) < 2 {
		return nil
	}
	plain := true
	for _, c := range q {
		if c == '\\' {
			plain = false
			break
		}
	}
	if plain && utf8.Valid(q) {
		return q[1 : len(q)-1]
	}
	var s string
	if json.Unmarshal(q, &s) != nil {
		return nil
	}
	return []byte(s)
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// stringEnd returns the length of the string that b starts with.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// valueEnd returns the length of the value that b starts with, 0 for none.
func valueEnd(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"':
		return stringEnd(b)
	case '{', '[':
		depth := 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				i += stringEnd(b[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(b)
	}
	i := 0
	for i < len(b) && !isSpace(b[i]) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != ':' && b[i] != '"' {
		i++
	}
	return i
}
