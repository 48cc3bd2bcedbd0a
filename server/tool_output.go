package server

import (
	"context"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// resultSize tells a host that knows the key how long a reply of output or
// tail may be before it is taken for an accident: characters, the most that
// the host accepts.
var resultSize = map[string]any{"anthropic/maxResultSizeChars": 500_000}

func (s *Server) outputTool() wire.Tool {
	return wire.Tool{
		Name: "output", Title: "Read a job's output",
		Description: "Lines of a job after a cursor, oldest first; does not wait. Start at after_cursor 0 and pass next_cursor " +
			"to go on; truncated with no dropped means the page is full and the next call goes on without loss. " +
			"dropped tells what fell out of the kept window (10,000 lines, 1 MiB a stream). " +
			"A cursor belongs to the stream selection it came from.",
		InputSchema: schema(outputInput), OutputSchema: schema(pageOutput),
		Annotations: hints(true, false, true, false),
		Meta:        resultSize,
		Handle:      s.output,
	}
}

func (s *Server) output(ctx context.Context, c *wire.Call) wire.Result {
	a := parseArgs(c.Arguments)
	q := query(a)
	q.After, _ = a.cursor("after_cursor")
	q.Limit = a.count("limit", 1, 0)
	j, no := s.find("output", a)
	if no != nil {
		return *no
	}
	defer room(ctx, c.Conn, q.Budget)()
	p := j.Output(q)
	return pageReply(&p, q.Sel)
}

// query reads what output, tail and follow have in common.
func query(a *args) job.Query {
	return job.Query{
		Sel: a.selection(), Budget: a.budget(),
		Timestamps: a.flag("timestamps", false), Pending: a.flag("include_pending", false),
	}
}

func pageReply(p *job.Page, sel job.Sel) wire.Result {
	o := newObject(pageSize(p))
	o.page(p, sel)
	return reply(o.close())
}
