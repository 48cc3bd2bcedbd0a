package server

import (
	"context"
	"encoding/json"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// outputWake is the notification that carries a task's lines.
const outputWake = "notifications/belfry/outputWake"

// pushBudget bounds one outputWake, in bytes of JSON; more lines make more of
// them.
const pushBudget = 1 << 20

// push tells the client of a task that it minted in the legacy era, which has
// no subscriptions: its lines as they come, and its end. It returns when that
// is done or the connection has ended.
func (s *Server) push(c *wire.Conn, j *job.Job) {
	ctx := c.Context()
	after := uint64(0)
	g := flood{at: time.Now()}
	for !over(j.Done()) {
		switch j.Follow(ctx, after, job.SelBoth, 0) {
		case job.CauseCancelled:
			return
		case job.CauseOutput:
			if !window(ctx, j.Done()) {
				return
			}
		}
		var err error
		if after, err = pushLines(ctx, c, j, after); err != nil {
			return
		}
		if now := time.Now(); g.sustained(now, after) {
			s.quiet.set(s.store, j.ID(), now)
			select {
			case <-j.Done():
			case <-ctx.Done():
				return
			}
			break
		}
	}
	if s.quiet.get(j.ID()).IsZero() {
		if _, err := pushLines(ctx, c, j, after); err != nil {
			return
		}
	}
	// Only the end of the connection can make this fail, and then nobody is
	// left to tell.
	_ = deliver(ctx, c, c.Notify, "notifications/tasks", func() json.RawMessage {
		return jobTask{s, j}.State(wire.Legacy).Detail
	})
}

// pushLines sends the lines after a cursor that were there when it was called,
// and gives the new cursor.
func pushLines(ctx context.Context, c *wire.Conn, j *job.Job, after uint64) (uint64, error) {
	for until := j.Head(job.SelBoth); after < until; {
		var p job.Page
		err := deliver(ctx, c, c.Notify, outputWake, func() json.RawMessage {
			p = j.Output(job.Query{After: after, Sel: job.SelBoth, Budget: pushBudget})
			if len(p.Lines) == 0 {
				return nil
			}
			return wakeOf(j.ID(), p.Lines)
		})
		if err != nil {
			return after, err
		}
		after = max(after, p.Next)
		if len(p.Lines) == 0 {
			// All of them dropped, or the head has stepped back for a moment
			// while lines are being published: then they come with the next.
			break
		}
	}
	return after, nil
}

// wakeOf writes the params of an outputWake.
func wakeOf(id string, lines []job.Line) json.RawMessage {
	o := newObject(256 + 64*len(lines))
	o.str("extension", wire.TasksExtension)
	o.str("taskId", id)
	for _, k := range []job.Kind{job.Stdout, job.Stderr} {
		n := 0
		for i := range lines {
			l := &lines[i]
			if l.Kind != k {
				continue
			}
			if n++; n == 1 {
				o.key(k.String())
				o.b = append(o.b, '[')
			} else {
				o.b = append(o.b, ',')
			}
			o.b = append(o.b, '{')
			o.count("seq", l.Seq)
			o.line(l)
			o.end()
		}
		if n > 0 {
			o.b = append(o.b, ']')
		}
	}
	return o.close()
}
