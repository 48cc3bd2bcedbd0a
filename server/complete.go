package server

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// maxCompletions is the most values that one answer may hold.
const maxCompletions = 100

// complete serves completion/complete for the arguments of the resource
// templates and of the prompts.
func (s *Server) complete(_ context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
	a := parseArgs(r.Params)
	ref, arg := a.object("ref"), a.object("argument")
	if ref == nil || arg == nil {
		if a.err == nil {
			a.refuse("ref and argument", "are required")
		}
		return nil, invalid("%s: params.%v", r.Method, a.err)
	}
	name, _ := arg.text("name")
	value, _ := arg.text("value")
	a.adopt(arg)
	known := false
	switch kind, _ := ref.text("type"); kind {
	case "ref/resource":
		uri, _ := ref.text("uri")
		known = uri == recordTemplate || uri == outputTemplate
	case "ref/prompt":
		prompt, _ := ref.text("name")
		known = findPrompt(prompt) != nil
	}
	a.adopt(ref)
	switch {
	case a.err != nil:
		return nil, invalid("%s: params.%v", r.Method, a.err)
	case !known:
		return nil, invalid("%s: params.ref names no prompt and no resource template of this server", r.Method)
	}
	switch name {
	case "id", "job_id":
		return completion(s.jobIDs(value)), nil
	case "stream":
		return completion(starting([]string{"both", "stdout", "stderr"}, value)), nil
	}
	return completion(nil), nil
}

// jobIDs gives the ids that begin so, those of the newest jobs first.
func (s *Server) jobIDs(prefix string) []string {
	snaps, _ := s.store.List(job.Filter{})
	ids := make([]string, 0, len(snaps))
	for i := range snaps {
		ids = append(ids, snaps[i].ID)
	}
	return starting(ids, prefix)
}

func starting(all []string, prefix string) []string {
	var found []string
	for _, v := range all {
		if strings.HasPrefix(v, prefix) {
			found = append(found, v)
		}
	}
	return found
}

func completion(values []string) json.RawMessage {
	total := len(values)
	values = values[:min(total, maxCompletions)]
	o := newObject(64 + 40*len(values))
	o.open("completion")
	o.list("values", values)
	o.num("total", int64(total))
	o.flag("hasMore", total > len(values))
	o.end()
	return o.close()
}
