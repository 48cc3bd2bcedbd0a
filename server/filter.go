package server

import (
	"encoding/json"

	"github.com/belfry-dev/belfry/server/wire"
)

// filter is what a listen asks for. Lists that were not given are nil. What
// could change besides, such as the list of tools, never does here.
type filter struct{ tasks, resources []string }

// readFilter reads params.notifications.
func readFilter(r *wire.Request) (filter, *wire.Error) {
	a := parseArgs(r.Params)
	in := a.object("notifications")
	if in == nil && a.err == nil {
		a.refuse("notifications", "is required: an object")
	}
	if a.err != nil {
		return filter{}, invalid("%s: params.%v", r.Method, a.err)
	}
	var f filter
	for _, name := range in.members.names() {
		switch raw, _ := in.members.get(name); name {
		case "toolsListChanged", "promptsListChanged", "resourcesListChanged":
			in.flag(name, false)
		case "taskIds":
			f.tasks = in.distinct(name, raw)
		case "resourceSubscriptions":
			f.resources = in.distinct(name, raw)
		}
	}
	if in.err != nil {
		return filter{}, invalid("%s: params.%v", r.Method, in.err)
	}
	if f.tasks != nil && !r.Tasks {
		return filter{}, wire.NeedsTasks()
	}
	return f, nil
}

// distinct reads an array of strings without those that stand there twice. It
// is not nil unless refused.
func (a *args) distinct(name string, raw json.RawMessage) []string {
	if !isType(raw, "an array") {
		a.wrong(name, "an array of strings", raw)
		return nil
	}
	all := a.strings(name, raw)
	seen := make(map[string]bool, len(all))
	list := all[:0]
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}
