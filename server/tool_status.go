package server

import (
	"context"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

func (s *Server) statusTool() wire.Tool {
	return wire.Tool{
		Name: "status", Title: "Look at a job",
		Description: "The record of one job as it stands now: state, exit_code or signal, how it ended, line counts, pid, and " +
			"what contains its process tree. Does not wait and returns no output. To wait, use follow instead of polling.",
		InputSchema: schema(statusInput), OutputSchema: schema(statusOutput),
		Annotations: hints(true, false, true, false),
		Inline:      true,
		Handle:      s.status,
	}
}

func (s *Server) status(_ context.Context, c *wire.Call) wire.Result {
	j, no := s.find("status", parseArgs(c.Arguments))
	if no != nil {
		return *no
	}
	snap := j.Snapshot()
	return reply(s.statusPayload(&snap))
}

// payload is the record that run and kill answer with.
func (s *Server) payload(snap *job.Snapshot) []byte {
	o := newObject(recordSize)
	s.writeRecord(o, snap)
	return o.close()
}

// writeRecord writes a record and what the server knows beside it.
func (s *Server) writeRecord(o *object, snap *job.Snapshot) {
	o.record(snap)
	if a := s.wakes.last.get(snap.ID); a != nil {
		o.attempt(a)
	}
}

// statusPayload is the record with what only status tells.
func (s *Server) statusPayload(snap *job.Snapshot) []byte {
	o := newObject(recordSize)
	s.writeRecord(o, snap)
	o.process(snap)
	return o.close()
}
