package server

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reply is a success: the payload, and the same as text for hosts that show
// nothing else to the model. The text shares the payload's bytes, which nobody
// changes any more.
func reply(payload []byte) wire.Result {
	return wire.Result{Structured: payload, Text: unsafe.String(unsafe.SliceData(payload), len(payload))}
}

// fail is a tool error. Some hosts show only its text, so it says everything:
// what was wrong, with which argument, and what to do next.
func fail(tool, format string, args ...any) wire.Result {
	return wire.Result{IsError: true, Text: tool + ": " + fmt.Sprintf(format, args...)}
}

// failed turns an error of package job into a tool error.
func failed(tool string, err error) wire.Result {
	var rejected *job.RejectedError
	if errors.As(err, &rejected) {
		res := fail(tool, "%v", err)
		o := newObject(64)
		o.flag("rejected", true)
		o.str("reason", rejected.Reason)
		res.Structured = o.close()
		return res
	}
	return fail(tool, "%v", err)
}

// invalid is the error of a method whose params are wrong.
func invalid(format string, args ...any) *wire.Error {
	return &wire.Error{Code: wire.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// find reads job_id and looks the job up.
func (s *Server) find(tool string, a *args) (*job.Job, *wire.Result) {
	id, ok := a.text("job_id")
	if !ok {
		a.refuse("job_id", "is required: the job_id that run answered with")
	} else if id == "" {
		a.refuse("job_id", "must not be empty")
	}
	if a.err != nil {
		res := failed(tool, a.err)
		return nil, &res
	}
	j, ok := s.store.Get(id)
	if !ok {
		res := fail(tool, "unknown job_id %s. Job ids are scoped to this server process: jobs of an earlier "+
			"process are gone, and records of long ended jobs expire. Call list to see the jobs there are.", quoted(id))
		return nil, &res
	}
	return j, nil
}

// quoted names a value of the client's in an error, however long it is.
func quoted(s string) string {
	const most = 80
	if r := []rune(s[:min(len(s), 4*most+4)]); len(r) > most {
		return strconv.Quote(string(r[:most])) + "…"
	}
	return strconv.Quote(s)
}

// hints sets all four annotations: some hosts want none of them left to a
// default.
func hints(readOnly, destructive, idempotent, openWorld bool) mcp.ToolAnnotations {
	return mcp.ToolAnnotations{
		ReadOnlyHint: readOnly, DestructiveHint: &destructive,
		IdempotentHint: idempotent, OpenWorldHint: &openWorld,
	}
}
