package server

import (
	"encoding/json"
	"slices"

	"github.com/belfry-dev/belfry/server/wire"
)

// members are those of a JSON object as they were sent.
type members []member

type member struct {
	name  []byte
	value json.RawMessage
}

func membersOf(object json.RawMessage) (all members) {
	for name, value := range wire.Members(object) {
		all = append(all, member{name, value})
	}
	return all
}

// get gives the value of a name, the last one when it stands there twice.
func (m members) get(name string) (value json.RawMessage, there bool) {
	for i := len(m) - 1; i >= 0; i-- {
		if string(m[i].name) == name {
			return m[i].value, true
		}
	}
	return nil, false
}

// names are the names in alphabetical order, so that the first mistake found
// is the same one every time.
func (m members) names() []string {
	names := make([]string, len(m))
	for i := range m {
		names[i] = string(m[i].name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
