package sys_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("hog", hog) }

// hog lives on and has a child that takes ever more memory.
func hog(args []string) int {
	if len(args) == 0 {
		path, argv, env := systest.Command("hog", "child")
		p, err := os.StartProcess(path, argv, &os.ProcAttr{Env: env, Files: []*os.File{nil, os.Stdout, os.Stdout}})
		if err != nil {
			return 1
		}
		p.Wait()
		return 0 // what a wrapper does that takes no notice of its child's end
	}
	var held [][]byte
	for {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		held = append(held, b)
		if len(held) > 4<<10 {
			return 1 // no limit holds it
		}
	}
}

// limited is a host on which a limit can be had; without one the test skips and
// says why.
func limited(t *testing.T, name sys.LimitName) sys.Host {
	t.Helper()
	h := systest.Host(t, sys.HostOptions{})
	for _, r := range h.Probe(t.Context()).Limits {
		if r.Limit == name && !r.Enforced {
			systest.Spare("hog")
			t.Skipf("%s cannot be limited here: %s: %s", name, r.Reason, r.Detail)
		}
	}
	return h
}

// startLimited starts a program under limits.
func startLimited(t *testing.T, h sys.Host, l sys.Limits, name string, argv ...string) *run {
	t.Helper()
	return startSpec(t, h, func(w *os.File) sys.Spec {
		sp := specOf(t, w, nil, name)
		if len(argv) > 0 {
			sp.Path, sp.Argv = argv[0], argv
		}
		sp.Limits = l
		return sp
	})
}

// until waits for what no event tells.
func until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !yes(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

// TestLimitMemory: one member over the cap ends the whole tree, by the kernel's
// own account.
func TestLimitMemory(t *testing.T) {
	const most = 96 << 20
	h := limited(t, sys.LimitMemory)
	r := startLimited(t, h, sys.Limits{MemoryBytes: most + 1}, "hog")
	got := r.Limits()
	if len(got) != 1 || got[0].Limit != sys.LimitMemory || !got[0].Enforced || got[0].Requested != most+1 || got[0].Applied != most {
		t.Errorf("in force: %+v", got)
	}
	wait(t, "empty", r.Empty())
	if e := r.Exit(); e.Signal != sys.SIGKILL {
		t.Errorf("the leader ended with %+v, not with its tree", e)
	}
	if e := r.Evidence(); e.Memory != sys.Tripped || e.MemoryKills < 1 || e.Tasks != sys.NotTripped || e.CPUs != sys.NotTripped {
		t.Errorf("evidence %+v", e)
	}
	// The kernel counts a charge before it refuses it.
	if u := r.Usage(); u.PeakMemory > most+most/10 {
		t.Errorf("it had %d bytes, more than %d", u.PeakMemory, most)
	}
}

// TestLimitTasks: no further task can be started, and what is there lives on.
func TestLimitTasks(t *testing.T) {
	h := limited(t, sys.LimitTasks)
	r := startLimited(t, h, sys.Limits{Tasks: 8}, "exit", "/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 60 & done; wait")
	until(t, "the limit is met", func() bool { return r.Evidence().Tasks == sys.Tripped })
	if members, _ := r.Members(); len(members) > 8 {
		t.Errorf("%d members", len(members))
	}
	if _, err := r.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := r.Evidence(); e.Tasks != sys.Tripped || e.Memory != sys.NotTripped {
		t.Errorf("evidence after the end: %+v", e)
	}
	if got := r.Limits(); len(got) != 1 || got[0].Applied != 8 {
		t.Errorf("in force: %+v", got)
	}
}

// TestLimitCPUs: a tree that wants more waits.
func TestLimitCPUs(t *testing.T) {
	h := limited(t, sys.LimitCPUs)
	r := startLimited(t, h, sys.Limits{CPUs: 0.1}, "exit", "/bin/sh", "-c", "while :; do :; done")
	until(t, "the limit is met", func() bool { return r.Evidence().CPUs == sys.Tripped })
	if got := r.Limits(); len(got) != 1 || got[0].Applied != 0.1 {
		t.Errorf("in force: %+v", got)
	}
}

// TestLimitsTogether: all at once, met by nobody; another tree of the same host
// has none of them.
func TestLimitsTogether(t *testing.T) {
	h := limited(t, sys.LimitMemory)
	for _, name := range []sys.LimitName{sys.LimitTasks, sys.LimitCPUs} {
		limited(t, name)
	}
	r := startLimited(t, h, sys.Limits{MemoryBytes: 1 << 30, Tasks: 1000, CPUs: 64}, "sleep")
	if got := r.Limits(); len(got) != 3 {
		t.Errorf("in force: %+v", got)
	}
	free := start(t, h, nil, "sleep")
	if got := free.Limits(); len(got) != 0 {
		t.Errorf("in force without being asked for: %+v", got)
	}
	if rep, err := r.Kill(t.Context()); err != nil || rep.Proof != sys.ProofCgroupEmpty {
		t.Errorf("%+v %v", rep, err)
	}
	if e := r.Evidence(); e.Memory != sys.NotTripped || e.Tasks != sys.NotTripped || e.MemoryKills != 0 {
		t.Errorf("evidence %+v", e)
	}
	if e := free.Exit(); e != (sys.Exit{}) {
		t.Errorf("the other tree ended: %+v", e)
	}
}

// TestLimitStrict: limits hold a tree in a pid namespace too.
func TestLimitStrict(t *testing.T) {
	h := limited(t, sys.LimitMemory)
	needs(t, h, sys.PIDNamespace)
	const most = 96 << 20
	r := startSpec(t, h, func(w *os.File) sys.Spec {
		sp := specOf(t, w, nil, "hog")
		sp.Limits, sp.Want = sys.Limits{MemoryBytes: most}, sys.LevelStrict
		return sp
	})
	if g := r.Guarantee(); g.Mechanism != sys.PIDNamespace || len(r.Limits()) != 1 {
		t.Errorf("%+v with %+v", g, r.Limits())
	}
	wait(t, "empty", r.Empty())
	if e := r.Exit(); e.Signal != sys.SIGKILL {
		t.Errorf("the leader ended with %+v, not with its tree", e)
	}
	if err := r.Release(); err != nil {
		t.Error(err)
	}
	if e := r.Evidence(); e.Memory != sys.Tripped || e.MemoryKills < 1 {
		t.Errorf("evidence %+v", e)
	}
}

// TestLimitBeyondTheKernel: a value that the kernel does not take is refused by
// name, and nothing runs.
func TestLimitBeyondTheKernel(t *testing.T) {
	h := limited(t, sys.LimitCPUs)
	null, err := nullFile(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []sys.Limits{{CPUs: 0.00001}, {CPUs: 1e15}, {Tasks: 1 << 30}} {
		sp := specOf(t, null, nil, "sleep")
		sp.Limits = l
		_, err := h.Start(t.Context(), sp)
		se, ok := errors.AsType[*sys.StartError](err)
		if !ok || se.Code != sys.CodeLimitUnavailable || len(se.Limits) != 1 ||
			se.Limits[0].Reason != sys.LimitWriteRejected && se.Limits[0].Reason != sys.LimitReadbackMismatch {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// TestLimitRefused: where a limit cannot be had nothing runs, on no rung, and
// each record says why and what would help. Probe says the same.
func TestLimitRefused(t *testing.T) {
	for _, m := range []sys.Mechanism{"", sys.ProcessGroup} {
		h, err := sys.NewHost(sys.HostOptions{Mechanism: m})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		told := h.Probe(t.Context()).Limits
		if len(told) != 3 {
			t.Fatalf("Probe tells of %d limits: %+v", len(told), told)
		}
		null, err := nullFile(t)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range []sys.Limits{{MemoryBytes: 64 << 20}, {Tasks: 64}, {CPUs: 0.5}} {
			if told[i].Enforced {
				continue
			}
			token := newToken(t)
			sp := specOf(t, null, []string{token}, "hog")
			sp.Limits, sp.AllowWeaker = l, true
			_, err := h.Start(t.Context(), sp)
			se, ok := errors.AsType[*sys.StartError](err)
			if !ok || se.Code != sys.CodeLimitUnavailable || len(se.Limits) != 1 {
				t.Fatalf("%+v: %v", l, err)
			}
			if r := se.Limits[0]; r != told[i] || r.Reason == "" || r.Detail == "" || r.Remedy == "" || r.Enforced || r.Applied != 0 || r.Requested == 0 {
				t.Errorf("told %+v, probed %+v", r, told[i])
			}
			if left := survivors(token); len(left) != 0 {
				t.Errorf("it runs: %v", left)
			}
		}
	}
}
