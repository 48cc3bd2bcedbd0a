package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// The bounds of a follow. 45 s stays under the 60 s after which many hosts give
// a call up.
const (
	defaultFollow = 45 * time.Second
	maxFollow     = time.Hour
)

func (s *Server) followTool() wire.Tool {
	return wire.Tool{
		Name: "follow", Title: "Wait for a job",
		Description: "Wait until a job prints a line after the cursor or ends, and answer with its record and the new lines. " +
			"reason is output, terminal (it ended: exit_code, signal or diagnostic say how) or timeout (call again). " +
			"Without a cursor only lines printed after this call count; pass 0 for all there is, then next_cursor each time. " +
			"To wait for the end alone, pass a cursor beyond any line, such as 1000000000000. " +
			"Default timeout_ms 45000, at most 3600000. In Claude Code pass more than 120000: the call then moves to the " +
			"background and wakes you when it returns.",
		InputSchema: schema(followInput), OutputSchema: schema(followOutput),
		Annotations: hints(true, false, true, false),
		Begin:       s.beginFollow,
		Handle:      s.follow,
	}
}

// following is a follow between its request and its wait.
type following struct {
	no    *wire.Result // the answer already, when something was refused
	job   *job.Job
	query job.Query
	wait  time.Duration
	leave func() // gives the place back; nil when the answer is there already
}

// beginFollow reads the arguments, the cursor of "from now on" and, unless the
// answer is there already, takes a place to wait at. All of it belongs to the
// moment of the request, before any later one.
func (s *Server) beginFollow(ctx context.Context, c *wire.Call) any {
	a := parseArgs(c.Arguments)
	f := &following{query: query(a), wait: defaultFollow}
	after, given := a.cursor("cursor")
	if ms, ok := a.integer("timeout_ms", 1); ok {
		f.wait = time.Duration(min(ms, maxFollow.Milliseconds())) * time.Millisecond
	}
	if f.job, f.no = s.find("follow", a); f.no != nil {
		return f
	}
	if !given {
		after = f.job.Head(f.query.Sel)
	}
	f.query.After = after
	if !settled(f.job, f.query) {
		f.leave, f.no = s.wait(ctx, c)
	}
	return f
}

func (s *Server) follow(ctx context.Context, c *wire.Call) wire.Result {
	f := c.Begun.(*following)
	if f.no != nil {
		return *f.no
	}
	cause := job.CauseOutput
	w := waiter{job: f.job, query: f.query, progress: c.Progress, end: time.Now().Add(f.wait)}
	for {
		if f.leave != nil {
			cause = w.await(ctx)
		}
		if cause == job.CauseCancelled {
			f.leave()
			return fail("follow", "the call was cancelled; the job goes on")
		}
		made := room(ctx, c.Conn, f.query.Budget)
		res, ok := s.followReply(f, cause)
		made()
		if ok {
			if f.leave != nil {
				f.leave()
			}
			return res
		}
		if f.leave == nil {
			if f.leave, f.no = s.wait(ctx, c); f.no != nil {
				return *f.no
			}
		}
	}
}

// settled reports whether a follow has its answer already.
func settled(j *job.Job, q job.Query) bool {
	select {
	case <-j.Done():
		return true
	default:
		return j.Head(q.Sel) > q.After
	}
}

// waiter is the wait of a follow.
type waiter struct {
	job      *job.Job
	query    job.Query
	progress func(float64, string) // nil where the client did not ask for it
	end      time.Time
	said     int // reports of progress
}

// await waits for the follow's answer and tells meanwhile that it still does.
func (w *waiter) await(ctx context.Context) job.Cause {
	for {
		left := max(time.Until(w.end), 1)
		if w.progress == nil || left <= progressEvery {
			return w.job.Follow(ctx, w.query.After, w.query.Sel, left)
		}
		if cause := w.job.Follow(ctx, w.query.After, w.query.Sel, progressEvery); cause != job.CauseElapsed {
			return cause
		}
		w.progress(progress(w.job, w.said))
		w.said++
	}
}

// followReply makes the answer after the wait. The record is read before the
// lines: what is terminal in it has all its lines. ok is false when there is
// nothing to answer with: the head of both streams together steps back for a
// moment while lines are being published, and takes those with it that woke
// the follow.
func (s *Server) followReply(f *following, cause job.Cause) (res wire.Result, ok bool) {
	snap := f.job.Snapshot()
	return s.replyOf(f, &snap, cause)
}

// replyOf makes the answer for one state of the record. Where the record is
// too long for max_bytes it is cut to what matters most.
func (s *Server) replyOf(f *following, snap *job.Snapshot, cause job.Cause) (res wire.Result, ok bool) {
	o := newObject(recordSize)
	s.writeRecord(o, snap)
	q := f.query
	if ok = f.finish(o, snap, q, cause, ""); ok && len(o.b) > q.Budget {
		// What pending text may take goes by the whole budget: the least of them
		// bounds it here, and what is then left over is the lines' again.
		o = newObject(recordSize)
		o.brief(snap)
		q.Used, q.Budget = job.MinBudget-q.Budget, job.MinBudget
		ok = f.finish(o, snap, q, cause, briefNote)
	}
	return reply(o.b), ok
}

// finish writes what a reply has after its record: the lines and why there is
// a reply. It reports whether there is anything to answer with.
func (f *following) finish(o *object, snap *job.Snapshot, q job.Query, cause job.Cause, note string) bool {
	reason, said := "output", note
	switch {
	case snap.Terminal():
		reason = "terminal"
	case cause == job.CauseElapsed:
		reason = "timeout"
		said = cmp.Or(note, fmt.Sprintf("nothing new in %d ms, the job goes on; call follow again with this next_cursor as cursor", f.wait.Milliseconds()))
	}
	end := newObject(256)
	end.str("reason", reason)
	end.strIf("note", said)
	q.Used += len(o.b) + len(end.b) - len("{")
	p := f.job.Output(q)
	switch {
	case reason == "output" && len(p.Lines) == 0:
		return false
	case reason == "timeout" && len(p.Lines) > 0:
		// A line came between the end of the wait and now.
		end = newObject(32)
		end.str("reason", "output")
		end.strIf("note", note)
	}
	o.b = slices.Grow(o.b, pageSize(&p))
	o.page(&p, q.Sel)
	o.b = append(o.b, ',')
	o.b = append(o.b, end.b[1:]...)
	o.close()
	return true
}
