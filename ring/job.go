package ring

import (
	"context"
	"sync/atomic"
	"time"
)

// Job keeps the newest lines of a job's two streams and numbers them with one
// counter. Its methods may be called from any goroutine and never block a writer.
type Job struct {
	limits  Limits
	now     func() int64
	streams [2]Stream
	seq     atomic.Uint64 // the highest number given out
	_       [56]byte
	bell    notifier
}

// NewJob makes an empty store. now gives nanoseconds since 1970 and is called
// once a batch of lines; nil means the system's clock.
func NewJob(l Limits, now func() int64) *Job {
	if now == nil {
		now = func() int64 { return time.Now().UnixNano() }
	}
	j := &Job{limits: l.normal(), now: now}
	for k := range j.streams {
		j.streams[k].job = j
		j.streams[k].inflight.Store(idle)
	}
	return j
}

// Emptied makes a store that has reclaimed all it had, and counts that as counts,
// indexed by Kind, tell: those of Stat of a store whose streams were reclaimed or
// had nothing. It shows what that one shows.
func Emptied(counts [2]Stat) *Job {
	j := NewJob(Limits{}, nil)
	top := uint64(0)
	for k, c := range counts {
		s := &j.streams[k]
		s.Reclaim()
		s.win.lines = c.Lines
		s.lines.Store(c.Lines)
		s.lastSeq.Store(c.Loss.FirstKept)
		s.bytes.Store(c.Bytes)
		s.lost.Store(c.Loss.Dropped - c.Lines)
		top += c.Lines
	}
	j.seq.Store(top)
	return j
}

// Stream gives the writer's side of one stream.
func (j *Job) Stream(k Kind) *Stream { return &j.streams[k] }

// Notify makes every Await test its condition again.
func (j *Job) Notify() { j.bell.wake() }

// Await waits until ready gives true and returns nil, or the error of ctx when
// that ends first. ready is called by the caller's goroutine: at once, and again
// after every published line, Finish, Reclaim and Notify; no change that came
// before one of these is missed.
func (j *Job) Await(ctx context.Context, ready func() bool) error {
	return j.bell.await(ctx, 0, ready)
}

// AwaitAfter is Await for who waits for a line numbered above seq: lines up to
// seq do not have ready called again.
func (j *Job) AwaitAfter(ctx context.Context, seq uint64, ready func() bool) error {
	return j.bell.await(ctx, seq, ready)
}

// Head gives the highest seq that a reader of sel can see: for one stream its
// newest line, for both the seq up to which every line of both is published. 0
// if there is none. For both it may step back below an earlier answer while
// lines are being published; a cursor never does.
func (j *Job) Head(sel Sel) uint64 {
	switch sel & SelBoth {
	case SelStdout:
		return j.streams[Stdout].lastSeq.Load()
	case SelStderr:
		return j.streams[Stderr].lastSeq.Load()
	case SelBoth:
		return j.watermark()
	}
	return 0
}

// watermark gives a seq at or below which every line is published. The order of
// the loads matters: see the package comment.
func (j *Job) watermark() uint64 {
	h := j.seq.Load()
	for k := range j.streams {
		h = min(h, j.streams[k].inflight.Load()-1)
	}
	return h
}

// Stat gives the counts of one stream.
func (j *Job) Stat(k Kind) Stat {
	s := &j.streams[k]
	var v view
	v.open(s)
	loss := v.loss()
	v.close()
	return Stat{Lines: s.lines.Load(), Bytes: s.bytes.Load(), Pending: s.waiting.Load(), Loss: loss}
}

// Pending gives the text of one stream that waits for its newline, ill-formed
// sequences replaced as in Line. A character of which not all bytes have come
// yet is left out, a CR at the end is not.
func (j *Job) Pending(k Kind) string {
	return j.streams[k].pending(j.limits.MaxLine)
}
