package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/belfry-dev/belfry/darwin"
)

// darwinHost starts every tree as a process group of its own: the kernel has no
// container that a member could not leave.
type darwinHost struct {
	opt      HostOptions
	watcher  *darwin.Watcher
	guardian *guardian
	closing  chan struct{}

	mu     sync.Mutex
	trees  map[*groupTree]struct{} // not finished yet
	closed bool
}

var errHostClosed = errors.New("the host is closed")

func newHost(o HostOptions) (Host, error) {
	if o.Mechanism != "" && o.Mechanism != ProcessGroup {
		return nil, fmt.Errorf("mechanism %s: %w", o.Mechanism, ErrUnsupported)
	}
	if o.Executable == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program's file: %w", err)
		}
		o.Executable = self
	}
	if err := darwin.TakeIgnoredSignals(); err != nil {
		return nil, err
	}
	w, err := darwin.NewWatcher()
	if err != nil {
		return nil, err
	}
	self, err := darwin.ReadKinfo(os.Getpid())
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return &darwinHost{opt: o, watcher: w, guardian: newGuardian(o.Executable, idOf(self)),
		closing: make(chan struct{}), trees: map[*groupTree]struct{}{}}, nil
}

// Prepare starts the guardian in the background.
func (h *darwinHost) Prepare() { h.guardian.prepare() }

// Lookup reads the identity of a live process.
func (h *darwinHost) Lookup(pid int) (ID, error) { return identify(pid) }

const strongestHere = "macOS has no container that a process cannot leave"

// Sweep has nothing to do: there is no container that outlives its processes.
func (h *darwinHost) Sweep(context.Context) ([]SweepResult, error) { return nil, nil }

const (
	noLimits    = "macOS limits single processes, never a tree"
	limitRemedy = "run it on Linux or Windows, or in a virtual machine of that size"
)

// Start starts one tree or nothing.
func (h *darwinHost) Start(ctx context.Context, sp Spec) (Tree, error) {
	if err := sp.validate(); err != nil {
		return nil, err
	}
	if sp.Want >= LevelTree && !sp.AllowWeaker {
		return nil, unavailable(strongestHere, "accept a weaker one, or ask for group")
	}
	if sp.Limits.Any() {
		return nil, sp.Limits.refuseAll("", LimitUnsupported, noLimits, limitRemedy)
	}
	facts, err := preflight(ctx, &sp)
	if err != nil {
		return nil, err
	}
	h.guardian.await(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pid, err := spawn(&sp)
	if err != nil {
		return nil, spawnError(&sp, &facts, err)
	}
	// An unreaped child's record is always there.
	id, err := identify(pid)
	if err != nil {
		discard(pid)
		return nil, err
	}
	h.guardian.add(id)
	t := newGroupTree(h, id)
	if err := h.keep(t); err != nil {
		h.guardian.remove(id)
		discard(pid)
		return nil, err
	}
	go t.run()
	return t, nil
}

// keep remembers a tree until it is finished.
func (h *darwinHost) keep(t *groupTree) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errHostClosed
	}
	if err := t.watch(); err != nil {
		return err
	}
	h.trees[t] = struct{}{}
	return nil
}

// forget lets a finished tree go. One that still has members stays known to the
// guardian, which is then the last to end them.
func (h *darwinHost) forget(t *groupTree) {
	if t.Proof() != ProofNone {
		h.guardian.remove(t.id)
	}
	h.mu.Lock()
	delete(h.trees, t)
	h.mu.Unlock()
}

// Close ends the watch and lets the guardian go, which ends what was given up
// while it still lived.
func (h *darwinHost) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	close(h.closing)
	h.mu.Unlock()
	h.guardian.close()
	return h.watcher.Close()
}
