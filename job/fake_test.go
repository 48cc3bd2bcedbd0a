package job

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// fakeTree is a tree without processes, for the clocks of the teardown. Its
// pipes are at their end from the start.
type fakeTree struct {
	onSignal func(t *fakeTree, s sys.Signal) // nil: ignored
	onKill   func(t *fakeTree)               // nil: the tree goes
	noSignal error                           // what Signal answers
	onLeader func()                          // called by Leader

	mu        sync.Mutex
	signals   []sys.Signal
	kills     int
	released  int
	exit      sys.Exit
	exited    chan struct{}
	empty     chan struct{}
	survivors []sys.Member
	stopped   bool
	limits    []sys.LimitRecord
	evidence  sys.LimitEvidence
	gone      atomic.Bool // ended, though not noticed yet
}

func newFakeTree() *fakeTree {
	return &fakeTree{exited: make(chan struct{}), empty: make(chan struct{})}
}

// leave ends the leader; all ends everybody.
func (t *fakeTree) leave(code int, sig sys.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !closed(t.exited) {
		t.exit = sys.Exit{Code: code, Signal: sig, At: time.Now()}
		close(t.exited)
	}
}

func (t *fakeTree) all(code int, sig sys.Signal) {
	t.leave(code, sig)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !closed(t.empty) {
		close(t.empty)
	}
}

func (t *fakeTree) Leader() sys.ID {
	if t.onLeader != nil {
		t.onLeader()
	}
	return sys.ID{PID: 4711, Birth: 42, Kind: sys.BirthStartTicks}
}

func (t *fakeTree) Guarantee() sys.Guarantee {
	return sys.Guarantee{Mechanism: sys.CgroupV2, Kill: sys.ScopeTree, LeaderExit: sys.ScopeTree,
		SupervisorDeath: sys.ScopeTree, HelperDeath: sys.ScopeLeader}
}
func (t *fakeTree) Exited() <-chan struct{} { return t.exited }
func (t *fakeTree) Ended() bool             { return closed(t.exited) || t.gone.Load() }
func (t *fakeTree) Exit() sys.Exit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exit
}
func (t *fakeTree) Limits() []sys.LimitRecord   { return t.limits }
func (t *fakeTree) Evidence() sys.LimitEvidence { return t.evidence }
func (t *fakeTree) Empty() <-chan struct{}      { return t.empty }
func (t *fakeTree) Proof() sys.Proof            { return sys.ProofCgroupEmpty }

func (t *fakeTree) Signal(s sys.Signal) (sys.Delivery, error) {
	t.mu.Lock()
	t.signals = append(t.signals, s)
	t.mu.Unlock()
	if t.noSignal != nil {
		return sys.Delivery{}, t.noSignal
	}
	if t.onSignal != nil {
		t.onSignal(t, s)
	}
	return sys.Delivery{Sent: 1}, nil
}

func (t *fakeTree) Kill(ctx context.Context) (sys.KillReport, error) {
	t.mu.Lock()
	t.kills++
	t.mu.Unlock()
	if t.onKill != nil {
		t.onKill(t)
	} else {
		t.all(0, sys.SIGKILL)
	}
	select {
	case <-t.empty:
		return sys.KillReport{Proof: sys.ProofCgroupEmpty}, nil
	case <-ctx.Done():
		return sys.KillReport{Survivors: t.survivors}, nil
	}
}

func (t *fakeTree) Members() ([]sys.Member, sys.Completeness) { return t.survivors, sys.Exact }
func (t *fakeTree) Stopped() bool                             { return t.stopped }
func (t *fakeTree) Usage() sys.Usage {
	return sys.Usage{CPU: time.Second, PeakMemory: -1, IORead: -1, IOWrite: -1, PeakProcesses: -1}
}
func (t *fakeTree) Release() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.released++
	return nil
}

func (t *fakeTree) sent() []sys.Signal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]sys.Signal(nil), t.signals...)
}

// fakeLauncher starts the trees that make hands it, in order.
type fakeLauncher struct {
	start func(sp sys.Spec) (sys.Tree, error)
}

func (l fakeLauncher) Start(_ context.Context, sp sys.Spec) (sys.Tree, error) { return l.start(sp) }
