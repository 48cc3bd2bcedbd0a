package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/belfry-dev/belfry/runner/value"
)

var (
	errLong = fmt.Errorf("the line is longer than %d bytes", MaxLine)
	errCut  = errors.New("the line is cut off: the stream ends in it")
)

// Shown is an event as a person sees it. What a newer runner wrote is shown
// too, as long as it has the form of an event.
type Shown struct {
	Time, Name string
	Fields     []Field // the other keys, in order
}

// Field is a key of an event and its value. Neither forges a line or colours it.
type Field struct{ Key, Value string }

// Show reads a line tolerantly: a JSON object with a string under "event" is an
// event. Otherwise the error says what it is instead.
func (l Line) Show() (Shown, error) {
	if l.Long {
		return Shown{}, errLong
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(l.Data, &m); err != nil || m == nil {
		switch {
		case l.Cut:
			return Shown{}, errCut
		case len(strings.TrimSpace(string(l.Data))) == 0:
			return Shown{}, errors.New("the line is empty")
		case err == nil || json.Valid(l.Data):
			return Shown{}, errors.New("the line is not a JSON object")
		}
		return Shown{}, errors.New("the line is not JSON")
	}
	var name, at string
	if json.Unmarshal(m["event"], &name) != nil || name == "" {
		return Shown{}, errors.New(`the line has no key "event" with a string`)
	}
	if json.Unmarshal(m["time"], &at) != nil || at == "" {
		at = "-"
	}
	for _, k := range []string{"schema_version", "time", "event"} {
		delete(m, k)
	}
	s := Shown{Time: value.Human(at), Name: value.Human(name)}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		s.Fields = append(s.Fields, Field{value.Human(k), value.Human(plain(m[k]))})
	}
	return s, nil
}

// String is the event on one line: time, name, the other keys in order.
func (s Shown) String() string {
	var b strings.Builder
	b.WriteString(s.Time + "  " + s.Name)
	for _, f := range s.Fields {
		b.WriteString(" " + f.Key + "=" + f.Value)
	}
	return b.String()
}

// plain is a value without quotes where it reads the same without them.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" && s != "" && !strings.ContainsAny(s, " \t\n\"=") {
		return s
	}
	return string(raw)
}
