package job

import (
	"io"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/ring"
)

// Supervise starts the job of an order in a store of its own, and tells all of it
// to the recorder that record makes, until Told. It returns when it is decided
// whether the job runs. It is for a process that does nothing else; c gives the
// launcher, the order the rest.
func Supervise(c Config, o Order, record func(j *Job) (Recorder, error)) (*Store, *Job, error) {
	c.MaxRunning, c.Grace, c.Retention = ptr(1), &o.Grace, &o.Retention
	s, err := NewStore(c)
	if err != nil {
		return nil, nil, err
	}
	j := newOrdered(s, &o, false)
	r, err := record(j)
	if err != nil {
		return nil, nil, err
	}
	j.tee = &tee{to: r, told: make(chan struct{})}
	j.ring.Store(ring.NewJob(ring.DefaultLimits, func() int64 { return j.tee.at.UnixNano() }))
	r.Record(j.Snapshot())
	sub := s.Subscribe(16)
	s.mu.Lock()
	s.addLocked(j)
	s.startLocked(j)
	s.mu.Unlock()
	go func() {
		defer close(j.tee.told)
		defer sub.Close()
		for {
			select {
			case <-sub.C:
				r.Record(j.Snapshot())
			case <-j.gone:
				r.Record(j.Snapshot())
				return
			}
		}
	}()
	<-j.spawned
	return s, j, nil
}

// Told is closed when nothing more will be told of a supervised job.
func (j *Job) Told() <-chan struct{} {
	if j.tee == nil {
		return nil
	}
	return j.tee.told
}

// SaveOutput writes all output that is kept, for Replica.Restore. It may be
// called from within Recorder.Output and Finish, and once nothing more is told.
func (j *Job) SaveOutput(w io.Writer) error { return j.out().Save(w) }

// SaveNewest is SaveOutput of no more than the newest so many lines of each
// stream. Those before them count as dropped.
func (j *Job) SaveNewest(w io.Writer, lines uint64) error { return j.out().SaveNewest(w, lines) }

// tee tells a recorder what goes into a ring, in the order of its numbers.
type tee struct {
	to   Recorder
	told chan struct{} // closed when nothing more will be told
	mu   sync.Mutex    // so that both streams are told and numbered in one order
	at   time.Time     // under mu: of what is being numbered
}

// teed is the sink of one stream.
type teed struct {
	*tee
	sink
	kind Kind
	lent []byte
}

func (t *teed) Space() []byte {
	t.lent = t.sink.Space()
	return t.lent
}

func (t *teed) Commit(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = time.Now()
	t.to.Output(t.kind, t.at, t.lent[:n])
	t.sink.Commit(n)
}

func (t *teed) Finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = time.Now()
	t.to.Finish(t.kind, t.at)
	t.sink.Finish()
}

// sink is where a stream of the job goes.
func (j *Job) sink(k Kind) sink {
	s := j.out().Stream(k)
	if j.tee == nil {
		return s
	}
	return &teed{tee: j.tee, sink: s, kind: k}
}
