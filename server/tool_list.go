package server

import (
	"context"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// defaultList is how many jobs list tells of unless it is asked for more.
const defaultList = 100

func (s *Server) listTool() wire.Tool {
	return wire.Tool{
		Name: "list", Title: "List jobs",
		Description: "The jobs of this server process, newest first: id, label, state, outcome. concurrency_cap is how many " +
			"run at once; more than that wait in a queue.",
		InputSchema: schema(listInput), OutputSchema: schema(listOutput),
		Annotations: hints(true, false, true, false),
		Inline:      true,
		Handle:      s.list,
	}
}

func (s *Server) list(_ context.Context, c *wire.Call) wire.Result {
	a := parseArgs(c.Arguments)
	f := job.Filter{Limit: a.count("limit", 1, defaultList)}
	names := make([]string, 0, len(job.States()))
	for _, st := range job.States() {
		names = append(names, string(st))
	}
	if st := a.oneOf("state", "", names...); st != "" {
		f.States = []job.State{job.State(st)}
	}
	if a.err != nil {
		return failed("list", a.err)
	}
	jobs, more := s.store.List(f)
	return listReply(jobs, s.store.Slots(), more)
}

// listReply differs from the other replies: its text is the bare array.
func listReply(jobs []job.Snapshot, slots int, more bool) wire.Result {
	o := newObject(64 + 256*len(jobs))
	o.objects("jobs", len(jobs), func(i int) { o.entry(&jobs[i]) })
	text := string(o.b[len(`{"jobs":`):])
	o.num("concurrency_cap", int64(slots))
	if more {
		o.flag("truncated", true)
	}
	return wire.Result{Structured: o.close(), Text: text}
}
