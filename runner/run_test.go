package runner

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/belfry-dev/belfry/sys"
)

func TestNaturalEnd(t *testing.T) {
	for _, code := range []string{"0", "7", "100", "255"} {
		o := helper(t, "exit", code)
		o.Labels = map[string]string{"b": "2", "a": "1"}
		r := do(t, o)
		r.wantOrder(t, EventRunStarted, EventMembersSnapshot, EventRootExited, EventResourceSummary,
			EventCleanupStarted, EventCleanupFinished, EventRunnerExit)
		want(t, "source", r.Source, SourceChild)
		want(t, "message", r.Message, "")
		exit := r.event(t, EventRootExited)
		want(t, "outcome", exit["outcome"], any("exited"))
		want(t, "code", exit["code"], any(float64(r.Code)))
		end := r.event(t, EventCleanupFinished)
		want(t, "remaining", end["remaining"], any(0.0))
		want(t, "shutdown", end["shutdown"], nil)
		want(t, "child code", *r.ChildCode, r.Code)
		want(t, "warnings", len(r.warnings), 0)
		start := r.event(t, EventRunStarted)
		want(t, "id", start["run_id"], any(r.RunID))
		command := start["command"].(map[string]any)
		want(t, "fingerprint", command["argv_sha256"], any(Fingerprint(o.Argv)))
		want(t, "argv", command["argv"], nil)
	}
}

func TestWithoutStream(t *testing.T) {
	o := helper(t, "both", "3")
	o.JSONL, o.Registry = "", nil
	r := do(t, o)
	want(t, "code", r.Code, 0)
	if r.out.Len() == 0 || r.err.Len() == 0 {
		t.Errorf("echoed %q and %q", r.out.String(), r.err.String())
	}
}

func TestSpawnFailed(t *testing.T) {
	o := helper(t, "exit", "0")
	o.Argv = []string{"no-such-program-anywhere", "s3cret"}
	r := do(t, o)
	r.wantOrder(t, EventSpawnFailed, EventRunnerExit)
	want(t, "source", r.Source, SourceSpawnError)
	want(t, "code", r.Code, ExitSpawn)
	if strings.Contains(r.Message, "s3cret") {
		t.Errorf("an argument is told: %s", r.Message)
	}
	o = helper(t, "exit", "0")
	o.Dir = "no-such-folder"
	do(t, o).wantOrder(t, EventSpawnFailed, EventRunnerExit)
}

func TestSetupFailed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no", "file")
	for name, change := range map[string]func(o *Options){
		"input":   func(o *Options) { o.Input, o.InFile = InputFile, missing },
		"env":     func(o *Options) { o.Env.Files = []string{missing} },
		"capture": func(o *Options) { o.CaptureDir = os.Args[0] },
	} {
		t.Run(name, func(t *testing.T) {
			o := helper(t, "exit", "0")
			change(&o)
			r := do(t, o)
			r.wantOrder(t, EventRunnerExit)
			want(t, "source", r.Source, SourceSetup)
			want(t, "code", r.Code, ExitSetup)
		})
	}
	o := helper(t, "exit", "0")
	o.JSONL = missing
	r := do(t, o)
	want(t, "code without a stream", r.Code, ExitSetup)
	want(t, "events", len(r.events), 0)
}

// A second run that names the same file is refused and changes nothing.
func TestStreamIsOneRuns(t *testing.T) {
	o := helper(t, "exit", "0")
	f, err := openStream(o.JSONL, SchemaVersion, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.write(Killed{Source: "control_kill"})
	before, _ := os.ReadFile(o.JSONL)
	want(t, "code", Run(t.Context(), o).Code, ExitSetup)
	after, _ := os.ReadFile(o.JSONL)
	want(t, "the file", string(after), string(before))
	f.close()
	want(t, "then", do(t, o).Code, 0)
}

func TestTimeouts(t *testing.T) {
	none, some := time.Duration(0), 5*time.Second
	for _, idle := range []bool{false, true} {
		for _, grace := range []*time.Duration{nil, &none, &some} {
			o := helper(t, "sleep", "3600")
			reason := "overall"
			o.Timeout = 100 * time.Millisecond
			if idle {
				o.Timeout, o.IdleTimeout, reason = 0, 100*time.Millisecond, "idle"
			}
			o.Grace = grace
			r := do(t, o)
			want(t, "code", r.Code, ExitTimeout)
			e := r.event(t, EventTimeout)
			want(t, "reason", e["reason"], any(reason))
			want(t, "timeout", e["timeout_ms"], any(100.0))
			var ms any
			if grace != nil {
				ms = float64(grace.Milliseconds())
			}
			want(t, "grace", e["grace_ms"], ms)
			if runtime.GOOS != "windows" {
				want(t, "soft", r.event(t, EventCleanupFinished)["soft_terminate"], any("signalled"))
			}
			if r.Message == "" || r.ChildCode != nil {
				t.Errorf("ending %+v", r.Ending)
			}
		}
	}
}

func TestInterval(t *testing.T) {
	o := helper(t, "sleep", "3600")
	o.SnapshotInterval, o.Timeout = 20*time.Millisecond, 500*time.Millisecond
	r := do(t, o)
	ended, n := false, 0
	for _, e := range r.events {
		ended = ended || e["event"] == string(EventTimeout)
		if e["event"] == string(EventMembersSnapshot) && ended {
			t.Error("a snapshot after the ending event")
		}
		if e["reason"] == "interval" {
			n++
		}
	}
	if n < 3 {
		t.Errorf("%d snapshots", n)
	}
}

func TestEnvironmentOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(file, []byte("A=file\nB=file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := Environment{Base: []string{"A=base", "B=base", "C=base", "D=base"}, Remove: []string{"A", "C"},
		Files: []string{file}, Set: []value.Var{{Key: "B", Value: "set=1"}}, IDKey: "ID"}
	got, err := e.list("r1")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "environment", strings.Join(got, " "), "D=base A=file B=set=1 ID=r1")
	e.Clear = true
	got, _ = e.list("r1")
	want(t, "cleared", strings.Join(got, " "), "A=file B=set=1 ID=r1")
}

// What is asked of a live run works in every phase, and the first cause stands.
func TestControl(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no soft stop that a program could ignore")
	}
	grace := time.Hour
	o := helper(t, "ignore-term")
	o.Grace = &grace
	running := make(chan string, 1)
	o.Started = func(id string) { running <- id }
	ready := &spoke{c: make(chan struct{})}
	o.Stdout = ready
	end := make(chan *result, 1)
	go func() { end <- do(t, o) }()
	id := <-running
	<-ready.c // it ignores the soft stop now
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	found, err := o.Registry.Find(id)
	if err != nil {
		t.Fatal(err)
	}
	inspect := func() {
		t.Helper()
		s, err := control.Inspect(ctx, found.Endpoint, id)
		if err != nil {
			t.Fatal(err)
		}
		if s.RootPID == nil || len(s.Members) == 0 {
			t.Errorf("inspected %+v", s)
		}
	}
	inspect()
	sure := func() error { return nil }
	if _, err := control.Cancel(ctx, found.Endpoint, id, sure); err != nil {
		t.Fatal(err)
	}
	inspect()
	if _, err := control.Kill(ctx, found.Endpoint, id, sure); err != nil {
		t.Fatal(err)
	}
	r := <-end
	if r.Source != SourceControlCancel && r.Source != SourceControlKill {
		t.Errorf("source %s", r.Source)
	}
}

// A limit that cannot be had runs nothing, and says which.
func TestLimit(t *testing.T) {
	o := helper(t, "echo", "ran")
	o.Limits = sys.Limits{Tasks: 50}
	r := do(t, o)
	if r.Source == SourceChild {
		want(t, "processes", r.event(t, EventLimitEvidence)["processes"], any("not_tripped"))
		r.wantOrder(t, EventRunStarted, EventMembersSnapshot, EventRootExited, EventLimitEvidence, EventResourceSummary,
			EventCleanupStarted, EventCleanupFinished, EventRunnerExit)
		return
	}
	r.wantOrder(t, EventLimitHit, EventContainerFailed, EventRunnerExit)
	want(t, "limit", r.event(t, EventLimitHit)["limit"], any("processes"))
	want(t, "phase", r.event(t, EventContainerFailed)["phase"], any("create"))
	want(t, "code", r.Code, ExitBackend)
	want(t, "said", r.out.String(), "")
}
