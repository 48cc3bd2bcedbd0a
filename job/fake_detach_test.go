package job

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// fakeOwned is a detached job whose supervisor is the test: it tells what it is
// given, in order.
type fakeOwned struct {
	id    string
	tells chan func(to Replica) error // nil: nothing follows; closed: the supervisor is gone
	seen  chan struct{}               // one for each that was told

	mu        sync.Mutex
	signals   []sys.Signal
	graces    []time.Duration
	reclaimed []byte
	removed   bool
}

func newFakeOwned(id string) *fakeOwned {
	return &fakeOwned{id: id, tells: make(chan func(Replica) error), seen: make(chan struct{})}
}

func (o *fakeOwned) ID() string { return o.id }

func (o *fakeOwned) Follow(ctx context.Context, to Replica) error {
	for {
		select {
		case tell, ok := <-o.tells:
			if !ok {
				return ErrLost
			}
			if tell == nil {
				return nil
			}
			err := tell(to)
			o.seen <- struct{}{}
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell has something told and returns once it was.
func (o *fakeOwned) tell(f func(to Replica)) {
	o.tells <- func(to Replica) error { f(to); return nil }
	<-o.seen
}

func (o *fakeOwned) record(s Snapshot) { o.tell(func(to Replica) { to.Record(s); to.CaughtUp() }) }

func (o *fakeOwned) say(k Kind, text string) {
	o.tell(func(to Replica) { to.Output(k, time.Now(), []byte(text)) })
}

func (o *fakeOwned) Signal(_ context.Context, sig sys.Signal, grace time.Duration) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.signals, o.graces = append(o.signals, sig), append(o.graces, grace)
	return nil
}

func (o *fakeOwned) Reclaim(_ Snapshot, save func(io.Writer) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b bytes.Buffer
	if save(&b) == nil {
		o.reclaimed = b.Bytes()
	}
}

func (o *fakeOwned) Remove() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removed = true
}

// fakeDetacher hands out what it is given.
type fakeDetacher struct {
	detach func(o Order) (Owned, error)
	mu     sync.Mutex
	left   []Owned // by earlier stores
	noKeep error
	kept   []Order // wait, and are this store's
	waits  []Order // by earlier stores
}

func (d *fakeDetacher) Keep(o *Order) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.noKeep == nil {
		d.kept = append(d.kept, *o)
	}
	return d.noKeep
}

func (d *fakeDetacher) Forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = slices.DeleteFunc(d.kept, func(o Order) bool { return o.ID == id })
}

func (d *fakeDetacher) Waiting(id string) (out []*Order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits = slices.DeleteFunc(d.waits, func(o Order) bool {
		if id == "" || o.ID == id {
			out = append(out, &o)
			return true
		}
		return false
	})
	return out
}

func (d *fakeDetacher) Detach(_ context.Context, o Order) (Owned, error) {
	d.Forget(o.ID) // it is begun
	return d.detach(o)
}

func (d *fakeDetacher) Adopt(id string) (out []Owned) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = slices.DeleteFunc(d.left, func(o Owned) bool {
		if id == "" || o.ID() == id {
			out = append(out, o)
			return true
		}
		return false
	})
	return out
}

// detachedJob is one that a store has just started, and its supervisor.
func detachedJob(t *testing.T, c Config) (*Store, *Job, *fakeOwned, Order) {
	t.Helper()
	var owned *fakeOwned
	var order Order
	c.Detacher = &fakeDetacher{detach: func(o Order) (Owned, error) {
		owned, order = newFakeOwned(o.ID), o
		return owned, nil
	}}
	s, sp := fakeStore(t, c)
	sp.Detach, sp.Label, sp.Deadline, sp.OnExit = true, ptr("a label"), time.Minute, Wait
	sp.MergeStderr, sp.Contain, sp.AllowWeaker, sp.Limits.Tasks = true, ContainTree, true, 5
	j := mustRun(t, s, sp)
	for j.detached() == nil { // in a bubble: until all else rests
		synctest.Wait()
	}
	return s, j, owned, order
}

func recordOf(o Order, state State) Snapshot {
	return Snapshot{ID: o.ID, State: state, Label: o.Label, Command: o.Command, Created: o.Created, IdentityCapture: "captured",
		Guarantee: &Guarantee{Mechanism: "cgroup_v2"}}
}

func endedRecord(o Order, code int) Snapshot {
	s := recordOf(o, Exited)
	s.EndedBy, s.ExitCode, s.Ended, s.KillConfirmed = ByExit, &code, time.Now(), ptr(true)
	return s
}
