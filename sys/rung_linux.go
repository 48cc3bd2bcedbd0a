package sys

import (
	"context"
	"errors"
	"slices"
)

// rung is one way of this host to contain a tree.
type rung struct {
	mechanism Mechanism
	level     Level
	// start starts a tree or nothing. A *rungError is the rung's own failure;
	// any other is that of the program to start, on every rung the same.
	start func(ctx context.Context, sp *Spec) (Tree, error)
}

// rungs are all, the strongest first.
func (h *linuxHost) rungs() []rung {
	return []rung{
		{PIDNamespace, LevelStrict, h.startStrict},
		{CgroupV2, LevelTree, h.startInCgroup},
		{Subreaper, LevelTree, h.startShim},
		{ProcessGroup, LevelGroup, h.startGroup},
	}
}

// rungError is a failure of the rung, not of the program to start.
type rungError struct {
	err error
	// passing: the rung works here, or may, but not now. No job is weakened for
	// what passes.
	passing bool
	remedy  string
}

func (e *rungError) Error() string { return e.err.Error() }
func (e *rungError) Unwrap() error { return e.err }

// choices are the rungs that a job may be started on, the best first. Strict
// is for those who ask for it: it changes what a job sees.
func (h *linuxHost) choices(sp *Spec) []rung {
	all := h.rungs()
	return slices.DeleteFunc(all, func(r rung) bool {
		switch {
		case h.opt.Mechanism != "" && r.mechanism != h.opt.Mechanism:
			return true
		case r.level < sp.Want && !sp.AllowWeaker:
			return true
		case sp.Session == SessionShared && (r.mechanism == Subreaper || r.mechanism == PIDNamespace):
			return true // a shim lives in a session of its own, and so does what it starts
		}
		return r.level == LevelStrict && sp.Want < LevelStrict && h.opt.Mechanism == ""
	})
}

// startOnBest starts the tree on the first of its rungs that works here.
func (h *linuxHost) startOnBest(ctx context.Context, sp *Spec) (Tree, error) {
	var refused error = unavailable("no container that holds what was asked for is left to choose", "accept a weaker one, or a session of its own")
	for _, r := range h.choices(sp) {
		t, err := r.start(ctx, sp)
		re, ours := errors.AsType[*rungError](err)
		if !ours {
			return t, err
		}
		if se := shortage(re); se != nil {
			return nil, se
		}
		refused = unavailable("no "+string(r.mechanism)+": "+re.Error(), re.remedy)
		if re.passing {
			return nil, refused
		}
	}
	return nil, refused
}

func unavailable(why, remedy string) *StartError {
	return &StartError{Code: CodeContainmentUnavailable, Detail: why + " (" + remedy + ")", Err: ErrUnsupported}
}

// startGroup starts the program with nothing but its process group.
func (h *linuxHost) startGroup(ctx context.Context, sp *Spec) (Tree, error) {
	facts, err := h.lookAhead(ctx, sp)
	if err != nil {
		return nil, err
	}
	l, err := h.startLeader(sp, &facts, nil)
	if err != nil {
		return nil, err
	}
	return newGroupTree(l), nil
}

// startInCgroup starts the program in a control group of its own. A rung that
// fails for good is given up.
func (h *linuxHost) startInCgroup(ctx context.Context, sp *Spec) (Tree, error) {
	facts, err := h.lookAhead(ctx, sp)
	if err != nil {
		return nil, err
	}
	r, err := h.cgroupRung()
	if err != nil {
		return nil, &rungError{err: err, passing: isScarce(err), remedy: cgroupRemedy(err)}
	}
	if h.opt.Hasty && sp.Want == LevelAny {
		r.guardian.awaitBegin(ctx)
	} else {
		r.guardian.await(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := r.start(sp, &facts)
	ce, ours := errors.AsType[*cgroupError](err)
	if !ours {
		return t, err
	}
	if ce.forGood {
		h.refuseCgroup(ce.err)
		return nil, &rungError{err: ce.err, remedy: cgroupRemedy(ce.err)}
	}
	return nil, &rungError{err: ce.err, passing: r.isProved() || errors.Is(ce.err, errFrozen),
		remedy: "thaw the control group above, or try again"}
}
