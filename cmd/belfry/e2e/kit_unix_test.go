//go:build unix

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// rounds is how often a test repeats what must never fail: n times when
// BELFRY_ROUNDS is 100, that many of a hundred of it otherwise, and a few times
// when it is not set.
func rounds(t testing.TB, n int) int {
	t.Helper()
	v := os.Getenv("BELFRY_ROUNDS")
	if v == "" {
		return min(n, max(n/50, 2))
	}
	percent, err := strconv.Atoi(v)
	if err != nil || percent < 1 {
		t.Fatalf("BELFRY_ROUNDS=%q is not a positive number", v)
	}
	return max(n*percent/100, 1)
}

// again starts another server of the same folder, beside this one or after it.
func (s *server) again(o setup) *server {
	s.t.Helper()
	next := &server{t: s.t, dir: s.dir, exe: s.exe, token: s.token, stderr: &buffer{}}
	next.start(o)
	return next
}

func (r record) confirmed() bool { return r.KillConfirmed != nil && *r.KillConfirmed }

// line waits until a job has printed a line.
func (s *server) line(id, want string) {
	s.t.Helper()
	for cursor := 0; ; {
		r := s.tool("follow", args{"job_id": id, "cursor": cursor, "timeout_ms": longFollow})
		for _, e := range r.Events {
			if e.Text == want {
				return
			}
		}
		if r.Reason != "output" && r.NextCursor == cursor {
			s.t.Fatalf("job %s has not printed %q: %+v\n%s", id, want, r, s.text(id, "both"))
		}
		cursor = r.NextCursor
	}
}

// ready starts a job and waits until it says that it is ready.
func (s *server) ready(command any, more ...args) record {
	s.t.Helper()
	r := s.begin(command, more...)
	s.line(r.JobID, "ready")
	return s.status(r.JobID)
}

// text is all that is kept of a job's output; a line that was ended has its
// newline.
func (s *server) text(id, stream string) string {
	s.t.Helper()
	var b strings.Builder
	for cursor := 0; ; {
		p := s.tool("output", args{"job_id": id, "stream": stream, "after_cursor": cursor, "max_bytes": 1 << 20})
		for _, e := range p.Events {
			b.WriteString(e.Text)
			if !e.Partial {
				b.WriteByte('\n')
			}
		}
		if p.NextCursor <= cursor {
			return b.String()
		}
		cursor = p.NextCursor
	}
}
