package server

import (
	"unicode/utf8"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// briefNote says where the rest of a brief record is.
const briefNote = "max_bytes leaves no room for the whole record; status tells all of it"

// brief writes what of a record fits into a small reply: how the job stands
// and what ended it, long texts cut.
func (o *object) brief(s *job.Snapshot) {
	o.str("job_id", s.ID)
	o.str("state", string(s.State))
	o.timeIf("ended_at", s.Ended)
	o.ended(s)
	if d := s.Diagnostic; d != nil {
		o.open("diagnostic")
		o.str("reason", string(d.Reason))
		o.strIf("code", d.Code)
		o.str("message", shorten(d.Message, 200))
		o.end()
	}
	o.str("command_summary", shorten(s.Command, 48))
	o.str("label", shorten(s.Label, 48))
	o.flagIf("kill_confirmed", s.KillConfirmed)
}

// shorten cuts a text to at most so many bytes inside a JSON string, the mark
// of the cut included.
func shorten(s string, most int) string {
	const mark = "…"
	used, keep := 0, 0
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		used += len(wire.AppendString(nil, s[i:i+size])) - len(`""`)
		if used > most {
			return s[:keep] + mark
		}
		i += size
		if used <= most-len(mark) {
			keep = i
		}
	}
	return s
}
