package sys

import (
	"context"
	"sync"
)

// limitedTree is a tree whose members are beside that in a control group with
// limits: its own container is stricter, and has none.
type limitedTree struct {
	Tree
	rung   *cgroupRung
	leaf   *leaf
	limits []LimitRecord

	mu   sync.Mutex
	free bool          // the control group was given back
	met  LimitEvidence // then
	used Usage         // then
}

// startStrictLimited starts a tree in a pid namespace and a control group. The
// shim goes in before it is ordered to start anything, so all that follows is
// born there, and counts there itself.
func (h *linuxHost) startStrictLimited(ctx context.Context, sp *Spec, r *cgroupRung) (Tree, error) {
	in, err := r.makeLeaf()
	if se := shortage(err); se != nil {
		return nil, se
	}
	if err != nil {
		return nil, sp.Limits.refuseAll(CgroupV2, LimitCannotEnter, err.Error(), delegateRemedy())
	}
	limits, all := r.limit(in.Cgroup, sp.Limits)
	if !all {
		r.discard(in)
		return nil, limitError(limits)
	}
	t, err := h.startStrictIn(ctx, sp, in.Cgroup)
	if err != nil {
		r.discard(in)
		return nil, err
	}
	in.started()
	return &limitedTree{Tree: t, rung: r, leaf: in, limits: limits}, nil
}

// Limits are those that the control group holds.
func (t *limitedTree) Limits() []LimitRecord { return t.limits }

func (t *limitedTree) Evidence() LimitEvidence {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free {
		return t.met
	}
	return evidenceOf(t.leaf.Cgroup, t.limits)
}

func (t *limitedTree) Usage() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free {
		return t.used
	}
	return t.leaf.usage(t.Tree.Usage())
}

// Release gives the container back and the control group, with the shim or
// whatever else is still in it.
func (t *limitedTree) Release() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free {
		return t.Tree.Release()
	}
	t.met, t.used, t.free = evidenceOf(t.leaf.Cgroup, t.limits), t.leaf.usage(t.Tree.Usage()), true
	err := t.Tree.Release()
	t.rung.discard(t.leaf)
	return err
}
