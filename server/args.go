package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/belfry-dev/belfry/job"
)

// args are the arguments of one call. Names match exactly, unknown ones are
// ignored, of two equal ones the last counts. Reading goes on after a mistake;
// the first is kept in err and no value read counts then.
type args struct {
	members members
	prefix  string // of the names in errors, "env."
	err     error
}

// parseArgs reads an arguments object, which is valid JSON; nil is an empty one.
func parseArgs(raw json.RawMessage) *args {
	a := &args{members: membersOf(raw)}
	if len(raw) > 0 && !isType(raw, "an object") {
		a.err = &job.ArgumentError{Argument: "arguments", Rule: "must be an object"}
	}
	return a
}

// refuse records that an argument breaks a rule.
func (a *args) refuse(name, format string, values ...any) {
	if a.err == nil {
		a.err = &job.ArgumentError{Argument: a.prefix + name, Rule: fmt.Sprintf(format, values...)}
	}
}

// wrong refuses a value of the wrong type.
func (a *args) wrong(name, want string, got json.RawMessage) {
	a.refuse(name, "must be %s, not %s", want, typeOf(got))
}

// typeOf names the type of a JSON value.
func typeOf(raw json.RawMessage) string {
	switch raw = bytes.TrimLeft(raw, " \t\r\n"); {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '"':
		return "a string"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "an array"
	case raw[0] == 't', raw[0] == 'f':
		return "a boolean"
	case raw[0] == 'n':
		return "null"
	}
	return "a number"
}

func isType(raw json.RawMessage, name string) bool { return typeOf(raw) == name }

// text reads a string; ok is false when it is absent or refused.
func (a *args) text(name string) (s string, ok bool) {
	raw, there := a.members.get(name)
	if !there {
		return "", false
	}
	return a.textOf(name, raw)
}

func (a *args) textOf(name string, raw json.RawMessage) (s string, ok bool) {
	if !isType(raw, "a string") {
		a.wrong(name, "a string", raw)
		return "", false
	}
	// encoding/json would pass what is not Unicode on as U+FFFD: another value
	// than was sent.
	if !utf8.Valid(raw) {
		a.refuse(name, "must be valid Unicode: it holds bytes that are not UTF-8")
		return "", false
	}
	if raw = bytes.TrimSpace(raw); bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	if json.Unmarshal(raw, &s) != nil {
		a.wrong(name, "a string", raw)
		return "", false
	}
	if strings.ContainsRune(s, utf8.RuneError) && !utf16Whole(raw) {
		a.refuse(name, "must be valid Unicode: it holds half of a surrogate pair")
		return "", false
	}
	return s, true
}

// utf16Whole reports whether every \u escape of a surrogate has its other half.
func utf16Whole(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		r, ok := hex4(raw, i)
		if !ok {
			continue
		}
		i += 4
		switch {
		case r >= 0xDC00 && r <= 0xDFFF:
			return false
		case r >= 0xD800 && r <= 0xDBFF:
			low, ok := hex4(raw, i+2)
			if !ok || raw[i+1] != '\\' || low < 0xDC00 || low > 0xDFFF {
				return false
			}
			i += 6
		}
	}
	return true
}

// hex4 reads the number of an escape whose u stands at raw[i].
func hex4(raw []byte, i int) (r rune, ok bool) {
	if i+4 >= len(raw) || raw[i] != 'u' {
		return 0, false
	}
	for _, c := range raw[i+1 : i+5] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// oneOf reads a string out of a fixed set; def when absent.
func (a *args) oneOf(name, def string, allowed ...string) string {
	s, ok := a.text(name)
	if !ok {
		return def
	}
	for _, w := range allowed {
		if s == w {
			return s
		}
	}
	a.refuse(name, "must be one of %s, not %s", `"`+strings.Join(allowed, `", "`)+`"`, quoted(s))
	return def
}

// flag reads a boolean; def when absent.
func (a *args) flag(name string, def bool) bool {
	raw, there := a.members.get(name)
	if !there {
		return def
	}
	var b bool
	if !isType(raw, "a boolean") || json.Unmarshal(raw, &b) != nil {
		a.wrong(name, "a boolean", raw)
		return def
	}
	return b
}

// strings reads an array of strings.
func (a *args) strings(name string, raw json.RawMessage) []string {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		a.wrong(name, "an array of strings", raw)
		return nil
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		s, _ := a.textOf(fmt.Sprintf("%s[%d]", name, i), item)
		list = append(list, s)
	}
	return list
}

// object reads an object whose members are arguments of their own; nil when
// absent or refused.
func (a *args) object(name string) *args {
	raw, there := a.members.get(name)
	if !there {
		return nil
	}
	in := &args{prefix: a.prefix + name + "."}
	if !isType(raw, "an object") {
		a.wrong(name, "an object", raw)
		return nil
	}
	in.members = membersOf(raw)
	for _, m := range in.members {
		if bytes.ContainsRune(m.name, utf8.RuneError) && !(utf8.Valid(raw) && utf16Whole(raw)) {
			a.refuse(name, "has a name that is not valid Unicode")
			return nil
		}
	}
	return in
}

// adopt takes over the mistake of an inner object.
func (a *args) adopt(in *args) {
	if a.err == nil {
		a.err = in.err
	}
}

// selection reads stream.
func (a *args) selection() job.Sel {
	switch a.oneOf("stream", "both", "both", "stdout", "stderr") {
	case "stdout":
		return job.SelStdout
	case "stderr":
		return job.SelStderr
	}
	return job.SelBoth
}
