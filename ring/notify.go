package ring

import (
	"context"
	"math"
	"sync/atomic"
)

// notifier wakes sleepers. With nobody asleep a wake is one atomic load: the
// channel exists only while someone waits on it.
type notifier struct {
	waiters atomic.Int64
	gate    atomic.Pointer[gate]
}

// gate is what the sleepers of one while wait at.
type gate struct {
	open chan struct{}
	// above is the lowest seq that one of them waits for a line above. It only
	// sinks; a sleeper that left early may have left it too low, which costs
	// the others a test.
	above atomic.Uint64
}

// wake makes every sleeper test its condition again. The change it speaks of
// must have been stored before.
func (n *notifier) wake() {
	if n.waiters.Load() == 0 {
		return
	}
	if g := n.gate.Swap(nil); g != nil {
		close(g.open)
	}
}

// wakeAt is wake after a line up to seq was published: whoever waits for a line
// above that sleeps on.
func (n *notifier) wakeAt(seq uint64) {
	if n.waiters.Load() == 0 {
		return
	}
	if g := n.gate.Load(); g != nil && seq > g.above.Load() {
		n.wake()
	}
}

// current gives the gate that the next wake opens.
func (n *notifier) current() *gate {
	for {
		if g := n.gate.Load(); g != nil {
			return g
		}
		g := &gate{open: make(chan struct{})}
		g.above.Store(math.MaxUint64)
		if n.gate.CompareAndSwap(nil, g) {
			return g
		}
	}
}

// lower makes the gate open for a line above seq.
func (g *gate) lower(seq uint64) {
	for {
		old := g.above.Load()
		if old <= seq || g.above.CompareAndSwap(old, seq) {
			return
		}
	}
}

// await returns nil once ready gives true, else the error of ctx. It is woken by
// wake, and by wakeAt of more than after.
func (n *notifier) await(ctx context.Context, after uint64, ready func() bool) error {
	if ready() {
		return nil
	}
	n.waiters.Add(1)
	defer n.waiters.Add(-1)
	for {
		// The gate is taken and lowered before the test: a change that the test
		// misses opens this gate, since its wake finds the waiter counted and
		// the gate low enough.
		g := n.current()
		g.lower(after)
		if ready() {
			return nil
		}
		select {
		case <-g.open:
		case <-ctx.Done():
			if ready() {
				return nil
			}
			return ctx.Err()
		}
	}
}
