package server

import (
	"strconv"
	"time"

	"github.com/belfry-dev/belfry/server/wire"
)

// object writes one JSON object, member by member, in the order of the calls.
// It writes what encoding/json would write without HTML escaping; package job
// counts the size of a page by the same rules.
type object struct{ b []byte }

func newObject(capacity int) *object {
	return &object{append(make([]byte, 0, capacity), '{')}
}

// close ends the outermost object and gives its bytes.
func (o *object) close() []byte {
	o.b = append(o.b, '}')
	return o.b
}

// key begins a member. No value ends in '{', so that sign alone tells the
// first member.
func (o *object) key(k string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, k...)
	o.b = append(o.b, '"', ':')
}

func (o *object) str(k, v string) {
	o.key(k)
	o.b = wire.AppendString(o.b, v)
}

// strIf writes the member when there is something to say.
func (o *object) strIf(k, v string) {
	if v != "" {
		o.str(k, v)
	}
}

func (o *object) num(k string, v int64) {
	o.key(k)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) count(k string, v uint64) {
	o.key(k)
	o.b = strconv.AppendUint(o.b, v, 10)
}

func (o *object) flag(k string, v bool) {
	o.key(k)
	o.b = strconv.AppendBool(o.b, v)
}

// flagIf writes the member when it is known.
func (o *object) flagIf(k string, v *bool) {
	if v != nil {
		o.flag(k, *v)
	}
}

// time writes a moment as ISO 8601, UTC, to the millisecond.
func (o *object) time(k string, t time.Time) {
	o.key(k)
	o.b = append(o.b, '"')
	o.b = t.UTC().AppendFormat(o.b, "2006-01-02T15:04:05.000Z")
	o.b = append(o.b, '"')
}

func (o *object) timeIf(k string, t time.Time) {
	if !t.IsZero() {
		o.time(k, t)
	}
}

// open begins an object as a member; end ends it.
func (o *object) open(k string) {
	o.key(k)
	o.b = append(o.b, '{')
}

func (o *object) end() { o.b = append(o.b, '}') }

// list writes an array of strings.
func (o *object) list(k string, values []string) {
	o.array(k, len(values), func(i int) { o.b = wire.AppendString(o.b, values[i]) })
}

// objects writes an array of n objects; each writes the fields of one.
func (o *object) objects(k string, n int, each func(i int)) {
	o.array(k, n, func(i int) {
		o.b = append(o.b, '{')
		each(i)
		o.end()
	})
}

// array writes an array of n values; each writes one.
func (o *object) array(k string, n int, each func(i int)) {
	o.key(k)
	o.b = append(o.b, '[')
	for i := range n {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		each(i)
	}
	o.b = append(o.b, ']')
}
