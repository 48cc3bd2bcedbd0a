package sys_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// TestProbe: a rung is usable with a guarantee, or it says why not and what
// would help; and what Start then gives is what was said.
func TestProbe(t *testing.T) {
	h := newHost(t, "")
	rep := h.Probe(t.Context())
	if rep.OS != "linux" || rep.Kernel == "" || len(rep.Rungs) != 4 {
		t.Fatalf("%+v", rep)
	}
	var best sys.Mechanism
	for _, r := range rep.Rungs {
		switch {
		case r.Usable && (r.Reason != "" || r.Guarantee.Mechanism != r.Mechanism || r.Guarantee.Kill == ""):
			t.Errorf("usable: %+v", r)
		case !r.Usable && (r.Reason == "" || r.Remedy == "" || r.Guarantee != sys.Guarantee{}):
			t.Errorf("not usable: %+v", r)
		}
		if r.Usable && best == "" && r.Mechanism != sys.PIDNamespace {
			best = r.Mechanism
		}
	}
	if rep.Best != best {
		t.Errorf("best is %s, want %s", rep.Best, best)
	}
	r := start(t, h, nil, "sleep", "0")
	for _, told := range rep.Rungs {
		if g := r.Guarantee(); told.Mechanism == best && g != told.Guarantee {
			t.Errorf("told %+v, got %+v", told.Guarantee, g)
		}
	}
}

// TestNoControlGroup: without a place for control groups a subreaper is taken,
// which is enough for all but strict.
func TestNoControlGroup(t *testing.T) {
	h, err := sys.NewHost(sys.HostOptions{Parent: filepath.Join(t.TempDir(), "missing")})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	rep := h.Probe(t.Context())
	if rep.Best != sys.Subreaper {
		t.Errorf("%+v", rep)
	}
	for level, want := range map[sys.Level]sys.Mechanism{sys.LevelAny: sys.Subreaper, sys.LevelGroup: sys.Subreaper, sys.LevelTree: sys.Subreaper} {
		startLevel(t, h, level, false, want)
	}
	if _, err := sys.NewHost(sys.HostOptions{Mechanism: sys.JobObject}); !errors.Is(err, sys.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

// startLevel starts a tree that wants a level; no mechanism means a refusal.
func startLevel(t *testing.T, h sys.Host, level sys.Level, weaker bool, want sys.Mechanism) {
	t.Helper()
	sp := specOf(t, must(nullFile(t)), nil, "sleep", "0")
	sp.Want, sp.AllowWeaker = level, weaker
	tree, err := h.Start(t.Context(), sp)
	if want == "" {
		if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != sys.CodeContainmentUnavailable {
			t.Errorf("level %d, weaker %v: %v", level, weaker, err)
		}
		return
	}
	if err != nil {
		t.Errorf("level %d, weaker %v: %v", level, weaker, err)
		return
	}
	if m := tree.Guarantee().Mechanism; m != want {
		t.Errorf("level %d, weaker %v: started on %s, want %s", level, weaker, m, want)
	}
	wait(t, "empty", tree.Empty())
	if err := tree.Release(); err != nil {
		t.Error(err)
	}
}

// TestForcedMechanism: a host that may use one rung alone uses that or nothing,
// and one who wants more is refused, unless less will do.
func TestForcedMechanism(t *testing.T) {
	group := newHost(t, sys.ProcessGroup)
	for _, level := range []sys.Level{sys.LevelTree, sys.LevelStrict} {
		startLevel(t, group, level, false, "")
		startLevel(t, group, level, true, sys.ProcessGroup)
	}
	startLevel(t, group, sys.LevelGroup, false, sys.ProcessGroup)
	shim := newHost(t, sys.Subreaper)
	needs(t, shim, sys.Subreaper)
	startLevel(t, shim, sys.LevelTree, false, sys.Subreaper)
	startLevel(t, shim, sys.LevelStrict, false, "")
	startLevel(t, shim, sys.LevelStrict, true, sys.Subreaper)
}
