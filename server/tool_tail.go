package server

import (
	"context"

	"github.com/belfry-dev/belfry/server/wire"
)

// defaultTail is how many lines tail gives unless it is asked for another
// number.
const defaultTail = 100

func (s *Server) tailTool() wire.Tool {
	return wire.Tool{
		Name: "tail", Title: "Read the newest lines of a job",
		Description: "The newest lines of a job, oldest of them first; does not wait. truncated says that there are older ones. " +
			"next_cursor is where output or follow go on from here.",
		InputSchema: schema(tailInput), OutputSchema: schema(pageOutput),
		Annotations: hints(true, false, true, false),
		Meta:        resultSize,
		Handle:      s.tail,
	}
}

func (s *Server) tail(ctx context.Context, c *wire.Call) wire.Result {
	a := parseArgs(c.Arguments)
	q := query(a)
	lines := a.count("lines", 1, defaultTail)
	j, no := s.find("tail", a)
	if no != nil {
		return *no
	}
	defer room(ctx, c.Conn, q.Budget)()
	p := j.Tail(lines, q)
	return pageReply(&p, q.Sel)
}
