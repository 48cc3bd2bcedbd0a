package job

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-dev/belfry/ring"
)

// Cause is why a follow returned.
type Cause uint8

// The causes. When a line and the end are both there, the end wins.
const (
	CauseOutput    Cause = iota // a line with a seq above the cursor
	CauseEnded                  // the record is terminal
	CauseElapsed                // the time is over
	CauseCancelled              // ctx was cancelled
)

// Head is the highest seq of the selection: the cursor of "from now on".
func (j *Job) Head(sel ring.Sel) uint64 { return j.out().Head(sel) }

// Follow waits until the selection has a line after the cursor, the job has
// ended, or wait is over. Text without its newline never wakes it.
func (j *Job) Follow(ctx context.Context, after uint64, sel ring.Sel, wait time.Duration) Cause {
	if wait > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, wait, errElapsed)
		defer cancel()
		ctx = timed
	}
	over := func() bool { return closed(j.done) || closed(j.left) || j.Head(sel) > after }
	var err error
	for again := true; again; {
		r := j.out()
		err = r.AwaitAfter(ctx, after, func() bool { return over() || j.out() != r })
		again = err == nil && !over()
	}
	switch {
	case closed(j.done):
		return CauseEnded
	case err == nil && closed(j.left):
		return CauseElapsed
	case err == nil:
		return CauseOutput
	case errors.Is(context.Cause(ctx), errElapsed):
		return CauseElapsed
	}
	return CauseCancelled
}

var errElapsed = errors.New("the wait is over")
