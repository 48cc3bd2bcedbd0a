package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendString appends s as a JSON string, byte for byte what encoding/json makes
// of it without HTML escaping: U+2028 and U+2029 are escaped, which some readers of
// lines take for a line's end, and each byte that is no UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + 1
		case r == '\u2028' || r == '\u2029':
			// Legal in JSON, but some readers of lines take them for a line's end.
			b = append(append(b, s[from:i]...), `\u202`...)
			b = append(b, hex[r&15])
			from = i + size
		}
		i += size
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

// appendRaw appends a JSON value on one line.
func appendRaw(b, v []byte) []byte {
	if bytes.IndexByte(v, '\n') < 0 {
		return append(b, v...)
	}
	var c bytes.Buffer
	if json.Compact(&c, v) != nil {
		return append(b, "null"...)
	}
	return append(b, c.Bytes()...)
}

// appendReply begins the line of a reply. A nil id is null.
func appendReply(b, id []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(b, "null"...)
	}
	return append(b, id...)
}

// appendError appends the whole line of an error reply.
func appendError(b, id []byte, e *Error) []byte {
	b = appendReply(b, id)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, e.Code, 10)
	b = append(b, `,"message":`...)
	b = AppendString(b, e.Message)
	if e.Data != nil {
		if data, err := json.Marshal(e.Data); err == nil {
			b = append(b, `,"data":`...)
			b = append(b, data...)
		}
	}
	return append(b, "}}\n"...)
}

// appendNotification appends the whole line of a notification.
func appendNotification(b []byte, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","method":`...)
	b = AppendString(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = appendRaw(b, params)
	}
	return append(b, "}\n"...)
}

// appendProgress appends the whole line of a progress notification. ok is
// false for a progress that JSON has no number for.
func appendProgress(b, token []byte, progress float64, message string) (line []byte, ok bool) {
	if math.IsNaN(progress) || math.IsInf(progress, 0) {
		return b, false
	}
	b = append(b, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	b = append(b, token...)
	b = append(b, `,"progress":`...)
	if progress == math.Trunc(progress) && math.Abs(progress) < 1<<53 {
		b = strconv.AppendInt(b, int64(progress), 10)
	} else {
		b = strconv.AppendFloat(b, progress, 'g', -1, 64)
	}
	if message != "" {
		b = append(b, `,"message":`...)
		b = AppendString(b, message)
	}
	return append(b, "}}\n"...), true
}

// stamp is what a modern result carries beside its own members.
type stamp struct {
	info []byte // the serverInfo object
	head []byte // resultType and _meta, the front of a result made here
}

const serverInfoKey = "io.modelcontextprotocol/serverInfo"

func newStamp(info []byte) stamp {
	return stamp{info: info, head: []byte(`"resultType":"complete","_meta":{"` + serverInfoKey + `":` + string(info) + `},`)}
}

// appendResult appends the result object of a tool call.
func (s stamp) appendResult(b []byte, era Era, r Result) []byte {
	if r.Raw != nil {
		return s.appendObject(b, era, r.Raw)
	}
	b = append(b, '{')
	if era == Modern {
		b = append(b, s.head...)
	}
	b = append(b, `"content":[{"type":"text","text":`...)
	b = AppendString(b, r.Text)
	b = append(b, `}]`...)
	if r.Structured != nil {
		b = append(b, `,"structuredContent":`...)
		b = appendRaw(b, r.Structured)
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}')
}

// appendObject appends a result object made elsewhere. In the modern era
// resultType and _meta serverInfo are put in where they are missing.
func (s stamp) appendObject(b []byte, era Era, v []byte) []byte {
	if era != Modern {
		return appendRaw(b, v)
	}
	b = append(b, '{')
	if member(v, "resultType") == nil {
		b = append(b, `"resultType":"complete",`...)
	}
	b = append(b, `"_meta":{`...)
	meta := member(v, "_meta")
	if member(meta, serverInfoKey) == nil {
		b = append(b, `"`+serverInfoKey+`":`...)
		b = append(append(b, s.info...), ',')
	}
	b = appendMembers(b, meta, "")
	b = append(b, "},"...)
	b = appendMembers(b, v, "_meta")
	return append(b, '}')
}

// appendMembers appends the members of the object v save one, and takes away
// the comma before them when there are none.
func appendMembers(b, v []byte, save string) []byte {
	n := 0
	for m := object(v); m.next(); {
		if save != "" && string(m.key) == save {
			continue
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = AppendString(b, string(m.key))
		b = append(b, ':')
		b = appendRaw(b, m.val)
	}
	if n == 0 && b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return b
}
