package desk

import (
	"context"
	"math"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/runner/control"
)

// pageSize is how much output is held at once for a reader, in bytes of JSON; a
// longer line is taken alone.
const pageSize = 64 << 10

// logs reads a job's output from its beginning, or its newest lines, to what is
// there now or to its end.
type logs struct {
	j      *job.Job
	sel    ring.Sel
	tell   func(control.Said) error
	cursor uint64
	// read counts the lines of each stream that were told or told to be missing.
	read [2]uint64
}

// Logs tells what a job said. The error is that of tell, or of ctx.
func Logs(ctx context.Context, j *job.Job, q control.LogsQuery, tell func(control.Said) error) error {
	l := &logs{j: j, sel: selection(q.Stream), tell: tell}
	if q.Tail != nil {
		if err := l.tail(*q.Tail); err != nil {
			return err
		}
	}
	until := uint64(math.MaxUint64)
	if !q.Follow {
		until = j.Head(l.sel) // a job that never stops printing is read to here
	}
	for {
		ended := closed(j.Done()) // before the page, so that the page is whole
		if err := l.rest(ctx, until); err != nil {
			return err
		}
		switch {
		case ended:
			return nil
		case !q.Follow:
			return l.pending()
		}
		if j.Follow(ctx, l.cursor, l.sel, 0) == job.CauseCancelled {
			return context.Cause(ctx)
		}
	}
}

func selection(stream string) ring.Sel {
	switch stream {
	case ring.Stdout.String():
		return ring.SelStdout
	case ring.Stderr.String():
		return ring.SelStderr
	}
	return ring.SelBoth
}

// rest tells all that is there, or at least what is up to a seq.
func (l *logs) rest(ctx context.Context, until uint64) error {
	for ctx.Err() == nil {
		if l.cursor >= until {
			return nil
		}
		q := job.Query{After: l.cursor, Sel: l.sel, Budget: pageSize, Timestamps: true}
		p := l.j.Output(q)
		if len(p.Lines) > 0 && p.Lines[len(p.Lines)-1].Clipped {
			q.Budget, q.Limit = job.MaxBudget, len(p.Lines)
			p = l.j.Output(q)
		}
		if err := l.page(&p); err != nil || len(p.Lines) == 0 {
			return err
		}
	}
	return context.Cause(ctx)
}

// page tells which lines are missing, then those of a page.
func (l *logs) page(p *job.Page) error {
	for k := range l.read {
		if missing := p.Loss[k].Dropped; missing > l.read[k] {
			err := l.tell(control.Said{Stream: ring.Kind(k).String(), Dropped: missing - l.read[k]})
			if err != nil {
				return err
			}
			l.read[k] = missing
		}
	}
	for i := range p.Lines {
		x := &p.Lines[i]
		l.read[x.Kind]++
		if err := l.line(x); err != nil {
			return err
		}
	}
	l.cursor = p.Next
	return nil
}

func (l *logs) line(x *job.Line) error {
	return l.tell(control.Said{
		Stream: x.Kind.String(), Seq: x.Seq, Time: x.Time.Format(time.RFC3339Nano), Text: x.Whole(), Partial: x.Partial,
	})
}

// tail tells the newest n lines. What came before them is not missing.
func (l *logs) tail(n int) error {
	for k := range l.read {
		// Lines that come between this and the next are told and not counted, so
		// that a reader who falls behind at once hears of too many, never of none.
		l.read[k] = l.j.Snapshot().Counts[k].Lines
	}
	p := l.j.Tail(n, job.Query{Sel: l.sel, Budget: job.MaxBudget, Timestamps: true})
	l.cursor = p.Next
	for i := range p.Lines {
		if err := l.line(&p.Lines[i]); err != nil {
			return err
		}
	}
	return nil
}

// pending tells the text that waits for its newline: a prompt, a progress bar.
func (l *logs) pending() error {
	p := l.j.Output(job.Query{After: l.cursor, Sel: l.sel, Limit: 1, Budget: job.MaxBudget, Pending: true})
	for k, text := range p.Pending {
		if text == "" {
			continue
		}
		if err := l.tell(control.Said{Stream: ring.Kind(k).String(), Text: text, Partial: true}); err != nil {
			return err
		}
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
