package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// speaker is a launcher whose trees say one line each and end at once.
func speaker() fakeLauncher {
	return fakeLauncher{func(sp sys.Spec) (sys.Tree, error) {
		if _, err := sp.Stdio[1].WriteString("hello\n"); err != nil {
			return nil, err
		}
		t := newFakeTree()
		t.all(0, 0)
		return t, nil
	}}
}

// speaking is a store over speaker. Its clocks are real: the pipes are.
func speaking(t *testing.T, c Config) (*Store, func() *Job) {
	t.Helper()
	s, sp := fakeStore(t, c)
	s.cfg.Launcher = speaker()
	t.Cleanup(func() { s.Close(context.Background()) })
	return s, func() *Job {
		t.Helper()
		j := mustRun(t, s, sp)
		<-j.gone
		return j
	}
}

func held(j *Job) int { return len(j.Output(Query{}).Lines) }

func TestRetentionByNumber(t *testing.T) {
	_, run := speaking(t, Config{MaxRetained: ptr(2)})
	var jobs []*Job
	for range 4 {
		jobs = append(jobs, run())
	}
	run()
	for i, n := range []int{0, 0, 1, 1} {
		want(t, "lines kept", held(jobs[i]), n)
	}
	p := jobs[0].Output(Query{})
	want(t, "cursor", p.Next, 1)
	want(t, "truncated", p.Truncated, true)
	want(t, "loss", p.Loss[ring.Stdout], ring.Loss{Dropped: 1, FirstKept: 1})
	r := jobs[0].Snapshot()
	want(t, "counts stay", r.Counts[ring.Stdout].Lines, 1)
	want(t, "state stays", r.State, Exited)
}

func TestRetentionByAge(t *testing.T) {
	s, run := speaking(t, Config{Retention: ptr(time.Duration(0))})
	a := run()
	want(t, "before a sweep", held(a), 1)
	run()
	want(t, "after a new job", held(a), 0)
	if _, ok := s.Get(a.ID()); !ok {
		t.Error("the record went with the output")
	}
}

func TestRecordsAreBounded(t *testing.T) {
	s, run := speaking(t, Config{MaxRecords: ptr(3)})
	first := run()
	for range 4 {
		run()
	}
	list, more := s.List(Filter{})
	want(t, "records", len(list), 3)
	want(t, "more", more, false)
	if _, ok := s.Get(first.ID()); ok {
		t.Error("the oldest record is still there")
	}
	list, more = s.List(Filter{Limit: 2})
	want(t, "limit", len(list), 2)
	want(t, "more", more, true)
	list, _ = s.List(Filter{States: []State{Failed}})
	want(t, "of another state", len(list), 0)
}

// The sweep that no new job causes runs on its own timer, and none runs while
// nothing will expire.
func TestSweepTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newFakeTree()
		s, sp := fakeStore(t, Config{RecordTTL: ptr(time.Minute)}, tree)
		j := mustRun(t, s, sp)
		if s.sweep.timer != nil {
			t.Error("a timer runs beside a running job")
		}
		tree.all(0, 0)
		<-j.gone
		time.Sleep(59 * time.Second)
		if _, ok := s.Get(j.ID()); !ok {
			t.Error("the record went early")
		}
		time.Sleep(2 * time.Second)
		if _, ok := s.Get(j.ID()); ok {
			t.Error("the record outlived its time")
		}
		s.Close(t.Context())
	})
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trees := []*fakeTree{newFakeTree(), newFakeTree(), newFakeTree()}
		s, sp := fakeStore(t, Config{MaxRunning: ptr(1), MaxQueue: ptr(3)}, trees...)
		a, b, c, d := mustRun(t, s, sp), mustRun(t, s, sp), mustRun(t, s, sp), mustRun(t, s, sp)
		_, err := s.Run(t.Context(), sp)
		if re := (*RejectedError)(nil); !errors.As(err, &re) || re.Reason != RejectedQueueFull {
			t.Fatalf("fifth job: %v", err)
		}
		places := func(ps ...int) {
			t.Helper()
			for i, j := range []*Job{a, b, c, d} {
				want(t, "place", j.Snapshot().QueuePosition, ps[i])
			}
		}
		places(0, 1, 2, 3)
		want(t, "queued state", b.Snapshot().State, Starting)
		if err := b.Kill(t.Context(), Kill{}); err != nil {
			t.Fatal(err)
		}
		r := b.Snapshot()
		want(t, "cancelled", r.State == Killed && r.Signal == QueueCancelled && r.EndedBy == ByQueueCancelled, true)
		if r.IdentityConfirmed != nil || r.Identity != nil {
			t.Errorf("shows a process: %+v", r)
		}
		places(0, 0, 1, 2)
		trees[0].all(4, 0)
		<-c.spawned
		places(0, 0, 0, 1)
		want(t, "order", d.Snapshot().State, Starting)
		trees[1].all(0, 0)
		<-d.spawned
		trees[2].all(0, 0)
		<-d.Done()
		s.Close(t.Context())
	})
}

func TestNoCapacity(t *testing.T) {
	s, sp := fakeStore(t, Config{MaxRunning: ptr(0)})
	_, err := s.Run(t.Context(), sp)
	if re := (*RejectedError)(nil); !errors.As(err, &re) || re.Reason != RejectedNoCapacity {
		t.Errorf("run: %v", err)
	}
	// What cannot run at all is said all the same.
	sp.Dir = ptr("/no/such/folder")
	j, err := s.Run(t.Context(), sp)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "code", j.Snapshot().Diagnostic.Code, string(sys.CodeCwdMissing))
}

func TestRunChecks(t *testing.T) {
	s, ok := fakeStore(t, Config{})
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	denied := program(t, dir, "denied.exe")
	nope := filepath.Join(dir, "nope")
	// Windows does not tell a path through a file from one that leads nowhere,
	// and a file without an extension is not what a name means there.
	through, plain := "cwd_not_directory", "not_executable"
	if runtime.GOOS == "windows" {
		through, plain = "cwd_missing", "not_found"
	}
	for _, tc := range []struct {
		code   string
		reason Reason
		names  string
		change func(*Spec)
	}{
		{"cwd_missing", ReasonSpawn, nope, func(s *Spec) { s.Dir = ptr(nope) }},
		{"cwd_missing", ReasonSpawn, "empty", func(s *Spec) { s.Dir = ptr("") }},
		{"cwd_not_directory", ReasonSpawn, file, func(s *Spec) { s.Dir = ptr(file) }},
		{through, ReasonSpawn, file, func(s *Spec) { s.Dir = ptr(filepath.Join(file, "x")) }},
		{"nul_in_argument", ReasonSpawn, "cwd", func(s *Spec) { s.Dir = ptr("a\x00b") }},
		{"nul_in_argument", ReasonSpawn, "argument", func(s *Spec) { s.Command = append(s.Command[:1:1], "a\x00b") }},
		{"nul_in_argument", ReasonSpawn, "variable A", func(s *Spec) { s.Env.Vars = map[string]string{"A": "x\x00y"} }},
		{"not_found", ReasonSpawn, nope, func(s *Spec) { s.Command = []string{filepath.Join(nope, "x")} }},
		{"not_found", ReasonSpawn, dir, func(s *Spec) { s.Command, s.Env.Vars = []string{"nope"}, map[string]string{"PATH": dir} }},
		{plain, ReasonSpawn, file, func(s *Spec) { s.Command = []string{file} }},
		{"policy_denied", ReasonPolicy, denied, func(s *Spec) { s.Command = []string{denied} }},
	} {
		sp := ok
		tc.change(&sp)
		j := mustRun(t, s, sp)
		r := j.Snapshot()
		if r.State != Failed || r.Diagnostic.Code != tc.code || r.Diagnostic.Reason != tc.reason || !contains(r.Diagnostic.Message, tc.names) {
			t.Errorf("want %s naming %s: %+v", tc.code, tc.names, r.Diagnostic)
		}
		if !r.Ended.Equal(r.Created) || !isTrue(r.KillConfirmed) || r.Identity != nil {
			t.Errorf("%s: a job born failed: %+v", tc.code, r)
		}
	}
}

// What a record repeats of a request is bounded.
func TestRecordIsBounded(t *testing.T) {
	s, sp := fakeStore(t, Config{})
	sp.Command = []string{strings.Repeat("é", 100_000)}
	r := mustRun(t, s, sp).Snapshot()
	if len(r.Command) > maxSummary || len(r.Diagnostic.Message) > maxMessage {
		t.Errorf("summary of %d bytes, message of %d", len(r.Command), len(r.Diagnostic.Message))
	}
	if !utf8.ValidString(r.Command) || !strings.HasSuffix(r.Diagnostic.Message, "…") {
		t.Errorf("cut badly: %q", r.Diagnostic.Message[maxMessage-8:])
	}
}

// A store whose directory is gone runs what asks for another one.
func TestWithoutDirectory(t *testing.T) {
	tree := newFakeTree()
	s, sp := fakeStore(t, Config{}, tree)
	s.own.Dir = ""
	r := mustRun(t, s, sp).Snapshot()
	want(t, "code", r.Diagnostic.Code, string(sys.CodeCwdMissing))
	sp.Dir = ptr("sub")
	r = mustRun(t, s, sp).Snapshot()
	want(t, "relative", r.Diagnostic.Code, string(sys.CodeCwdMissing))
	sp.Dir = ptr(t.TempDir())
	j := mustRun(t, s, sp)
	tree.all(0, 0)
	<-j.Done()
	want(t, "absolute", j.Snapshot().State, Exited)
}

func contains(s, part string) bool { return strings.Contains(s, part) }
