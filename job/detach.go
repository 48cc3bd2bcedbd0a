package job

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// Detacher keeps jobs that outlive the store. Each has a supervisor of its own,
// a process that teardown, deadline and capture run in; the store shows what it
// is told. At any moment at most one store has such a job.
type Detacher interface {
	// Detach starts a supervisor that starts the job. Where that cannot be done
	// nothing runs, and the error says what would make it work.
	Detach(ctx context.Context, o Order) (Owned, error)
	// Adopt takes over the jobs that earlier stores have left, those that ended
	// meanwhile too: of all with the id "", else of that one.
	Adopt(id string) []Owned
	// Keep notes a job that is to be detached, so that it outlives the store from
	// the moment that anybody is told of it. The error is as that of Detach.
	Keep(o *Order) error
	// Forget drops what Keep noted of a job that will not be started.
	Forget(id string)
	// Waiting takes over the jobs that earlier stores have noted and that nobody
	// has begun: all of them with the id "", else that one.
	Waiting(id string) []*Order
}

// ErrLost is returned by Follow when a supervisor was killed and left no outcome.
var ErrLost = errors.New("the supervisor of the job is gone and has left no outcome")

// DetachError says why a job cannot be detached, and what would make it work.
type DetachError struct {
	Err    error
	Remedy string
}

func (e *DetachError) Error() string {
	return "the job cannot be detached: " + e.Err.Error() + "; " + e.Remedy
}

// Unwrap gives the cause.
func (e *DetachError) Unwrap() error { return e.Err }

// Owned is a detached job in the hands of this store.
type Owned interface {
	ID() string
	// Follow tells what the supervisor tells, from the beginning, in order. It
	// returns nil once nothing can follow, ErrLost, or the error of ctx, with
	// which the job is let go.
	Follow(ctx context.Context, to Replica) error
	// Signal asks the supervisor for a kill as Job.Kill does and returns when
	// the first signal was delivered. A grace below 0 is the supervisor's own.
	Signal(ctx context.Context, sig sys.Signal, grace time.Duration) error
	// Reclaim drops the output of a job of which nothing can follow, keeping its
	// record and what save writes; Remove drops all.
	Reclaim(record Snapshot, save func(io.Writer) error)
	Remove()
}

// Recorder is told everything of one job: its output in the order of its
// numbers, and its record at each change.
type Recorder interface {
	// Output is told before the bytes are numbered. They may not be kept.
	Output(k Kind, at time.Time, b []byte)
	// Finish is told when text that waits for its newline becomes a line.
	Finish(k Kind, at time.Time)
	Record(s Snapshot)
}

// Replica makes a job of what a Recorder was told.
type Replica interface {
	Recorder
	// Restore replaces all output by what Job.SaveOutput has written.
	Restore(saved io.Reader) error
	// CaughtUp is told, once or more, when all that was there has been told.
	CaughtUp()
}

// Order is a job that passed every check, for a supervisor to start.
type Order struct {
	ID, Label, Command, Client string
	Created                    time.Time

	Path      string
	Argv, Env []string
	Dir       string
	Umask     *int
	Approved  sys.FileStamp

	Deadline    time.Duration
	OnExit      OnExit
	MergeStderr bool
	Contain     Contain
	AllowWeaker bool
	Limits      Limits

	Grace, Retention time.Duration
}

func (j *Job) order() Order {
	j.mu.Lock()
	r := j.rec
	j.mu.Unlock()
	spec, plan := &j.work.spec, &j.work.plan
	return Order{
		ID: j.id, Label: r.Label, Command: r.Command, Client: r.Client, Created: r.Created,
		Path: plan.path, Argv: plan.argv, Env: plan.env, Dir: plan.dir, Umask: plan.umask, Approved: plan.approved,
		Deadline: spec.Deadline, OnExit: spec.OnExit, MergeStderr: spec.MergeStderr,
		Contain: spec.Contain, AllowWeaker: spec.AllowWeaker, Limits: spec.Limits,
		Grace: j.store.cfg.grace(), Retention: j.store.cfg.retention(),
	}
}

// launchDetached has a supervisor start the job and shows it until it is over
// or this store is.
func (j *Job) launchDetached() {
	h, err := j.store.cfg.Detacher.Detach(context.Background(), j.order())
	if err != nil {
		j.refuse(refusalOf(err), false)
		j.store.free()
		return
	}
	m := &mirror{j: j, owned: h, entered: true}
	j.mu.Lock()
	j.mirror = m
	j.mu.Unlock()
	m.show()
}

// detached gives the mirror of a job that a supervisor of its own has.
func (j *Job) detached() *mirror {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mirror
}

// killDetached is Kill of a job that is, or will be, under its own supervisor.
func (j *Job) killDetached(ctx context.Context, sig sys.Signal, grace time.Duration) error {
	select {
	case <-j.spawned:
	case <-j.done:
		return nil
	case <-j.left:
		return errLeft
	case <-ctx.Done():
		return ctx.Err()
	}
	if m := j.detached(); m != nil && !j.terminal() {
		return m.owned.Signal(ctx, sig, grace)
	} else if m == nil && closed(j.left) {
		return errLeft // it waited, and goes on waiting
	}
	return nil
}

var errLeft = errors.New("this server is ending and has let go of the job, which goes on or waits for the next server")
