package job

import (
	"context"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// Direct is one command to run without a store: no queue, no policy, no
// retention, and its output goes to taps, and to a ring if it is to be kept.
type Direct struct {
	Launcher Launcher
	// Spec is what to start, whole.
	Spec sys.Spec
	// Outputs are the pipes that the tree writes to, standard output first and at
	// most two. Start takes the readers over.
	Outputs []Output
	// Keep has what the taps took kept for Job.Output and its like. It costs what
	// a copy of the output costs.
	Keep bool
	// Linger is how long, after the leader's end, the rest of the tree may keep
	// an output open. Then, or once all outputs ended, what is left is killed.
	Linger time.Duration
	// Started is called once, before anything can end the job.
	Started func(j *Job)
	// Decided is called once, when it is settled what ends the job and before
	// anything is done about it. It must not wait for the job.
	Decided func(by EndedBy)
}

// directRun is what a directly started job has beside what all have.
type directRun struct {
	Direct
	facts     Teardown
	abandon   sync.Once
	abandoned chan struct{} // closed when the taps are not waited for any more
}

// Output is a pipe and what becomes of its bytes.
type Output struct {
	Reader *sys.PipeReader
	// Tap gets the bytes in order, as they are read, and may keep nothing of
	// them. While it does not return, the writer waits.
	Tap func(b []byte)
}

// Start starts one command and returns once it runs. The error is the
// launcher's; nothing runs then.
func Start(ctx context.Context, d Direct) (*Job, error) {
	s, err := NewStore(Config{Launcher: d.Launcher, Dir: d.Spec.Dir})
	if err != nil {
		return nil, err
	}
	j := newJob(s, Spec{Command: d.Spec.Argv}, plan{path: d.Spec.Path, argv: d.Spec.Argv}, time.Now())
	s.closing = true // nothing is kept, so nothing is swept
	j.direct = &directRun{Direct: d, abandoned: make(chan struct{})}
	for i, o := range d.Outputs {
		var to sink = &tap{take: o.Tap, buf: make([]byte, tapSize)}
		if d.Keep {
			to = &keptTap{take: o.Tap, kept: j.out().Stream(ring.Kind(i))}
		}
		j.pumps = append(j.pumps, s.newPump(o.Reader, to))
	}
	pair(j.pumps, false)
	tree, err := d.Launcher.Start(ctx, d.Spec)
	if err != nil {
		for _, p := range j.pumps {
			p.close()
		}
		return nil, err
	}
	s.slots++
	s.live.Add(1)
	j.started(tree)
	for _, p := range j.pumps {
		go p.run()
	}
	if d.Started != nil {
		d.Started(j)
	}
	close(j.spawned)
	go func() {
		defer s.live.Done()
		j.own(tree)
	}()
	return j, nil
}

// Forward sends a signal to the whole tree. What it does to the tree is the
// tree's own doing.
func (j *Job) Forward(sig sys.Signal) error {
	a := ask{signal: sig, forward: true, sent: make(chan error, 1)}
	j.deliver(context.Background(), a)
	select {
	case err := <-a.sent:
		return err
	case <-j.done:
		return nil
	}
}

// End begins to end the tree for a cause of the caller's and returns at once:
// soft stop, grace, hard kill; with hard the kill at once. Asked again it
// hastens what is under way. The first cause stands.
func (j *Job) End(by EndedBy, grace time.Duration, hard bool) {
	a := ask{by: by, signal: sys.SIGTERM, grace: grace, polite: true}
	if hard {
		a.signal = sys.SIGKILL
	}
	go j.deliver(context.Background(), a)
}

// Abandon gives up what the taps have not taken yet.
func (j *Job) Abandon() {
	if d := j.direct; d != nil {
		d.abandon.Do(func() { close(d.abandoned) })
	}
}

// Leader is the identity of a job's leader; its zero value before the start.
func (j *Job) Leader() sys.ID {
	j.mu.Lock()
	tree := j.tree
	j.mu.Unlock()
	if tree == nil {
		return sys.ID{}
	}
	return tree.Leader()
}

// Members lists the live members of a running job.
func (j *Job) Members() ([]sys.Member, sys.Completeness) {
	j.mu.Lock()
	tree := j.tree
	j.mu.Unlock()
	if tree == nil {
		return nil, sys.BestEffort
	}
	return tree.Members()
}

// Teardown is how the end of a directly started job went, valid once it is done.
type Teardown struct {
	Exit          sys.Exit // of the leader; valid from Decided on where the end is its own
	Before, After int      // live members when the end was decided and after the grace
	BeforeUnsure  bool     // they could not be read
	AfterUnsure   bool
	Soft          bool // a soft stop was tried
	SoftErr       error
	Escalated     bool // the hard kill was sent
	Took          time.Duration
	KillFailed    bool         // the hard kill could not be done or proved
	Remaining     []sys.Member // who outlived it
	RestUnsure    bool         // they could not be read
	Evidence      sys.LimitEvidence
}

// Teardown tells how the end of a directly started job went. It is valid once
// the job is done and, in part, within Decided.
func (j *Job) Teardown() Teardown {
	if j.direct == nil {
		return Teardown{}
	}
	return j.direct.facts
}

// tapSize is the most bytes that a tap gets at once, unless they are kept.
const tapSize = 64 << 10

// tap is the sink of a directly started job whose output is not kept.
type tap struct {
	take func(b []byte)
	buf  []byte
}

func (t *tap) Space() []byte { return t.buf }
func (t *tap) Commit(n int)  { t.take(t.buf[:n]) }
func (t *tap) Finish()       {}
func (t *tap) Shrink()       {}

// keptTap is the sink of one whose output is: the stream of its ring, of which
// somebody takes the bytes first.
type keptTap struct {
	take func(b []byte)
	kept *ring.Stream
	room []byte
}

func (t *keptTap) Space() []byte {
	t.room = t.kept.Space()
	return t.room
}

func (t *keptTap) Commit(n int) {
	t.take(t.room[:n])
	t.kept.Commit(n)
}

func (t *keptTap) Finish() { t.kept.Finish() }
func (t *keptTap) Shrink() { t.kept.Shrink() }
