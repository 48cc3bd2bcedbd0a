package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// two-parts PATH says something, and the rest of it once there is a file at PATH.
func init() {
	systest.Register("two-parts", func(args []string) int {
		fmt.Fprint(os.Stdout, "one\ntwo\npro")
		for { // until the test lets it go on
			if _, err := os.Stat(args[0]); err == nil {
				break
			}
			wait()
		}
		fmt.Fprint(os.Stdout, "mpt\n")
		fmt.Fprint(os.Stderr, "last")
		return 3
	})
}

// wait is a moment between two looks.
func wait() { <-time.After(5 * time.Millisecond) }

func TestMain(m *testing.M) { systest.Main(m) }

// shop is a store of real jobs.
func shop(t *testing.T) *job.Store {
	t.Helper()
	path, _, _ := systest.Command("exit")
	s, err := job.NewStore(job.Config{Launcher: systest.Host(t, sys.HostOptions{}), Policy: job.PolicyFile{Path: systest.Policy(t, path)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func run(t *testing.T, s *job.Store, helper string, args ...string) *job.Job {
	t.Helper()
	path, argv, _ := systest.Command(helper, args...)
	j, err := s.Run(t.Context(), job.Spec{Command: append([]string{path}, argv[1:]...)})
	if err != nil {
		t.Fatal(err)
	}
	if d := j.Snapshot().Diagnostic; d != nil {
		t.Fatal(d.Message)
	}
	return j
}

// said is what was told, each line as stream:text, with a bar where no newline
// ended it, and losses as stream-N.
func said(t *testing.T, j *job.Job, q control.LogsQuery) string {
	t.Helper()
	var b strings.Builder
	if err := Logs(t.Context(), j, q, func(x control.Said) error { b.WriteString(word(x)); return nil }); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func word(x control.Said) string {
	switch {
	case x.Dropped > 0:
		return fmt.Sprintf("%s-%d ", x.Stream, x.Dropped)
	case x.Partial:
		return x.Stream + ":" + x.Text + "| "
	}
	return x.Stream + ":" + x.Text + " "
}

func TestLogs(t *testing.T) {
	s := shop(t)
	leash := filepath.Join(t.TempDir(), "go on")
	j := run(t, s, "two-parts", leash)
	for j.Snapshot().Counts[ring.Stdout].Pending == 0 {
		wait()
	}
	if got := said(t, j, control.LogsQuery{}); got != "stdout:one stdout:two stdout:pro|" {
		t.Errorf("so far: %s", got)
	}
	one := 1
	if got := said(t, j, control.LogsQuery{Tail: &one}); got != "stdout:two stdout:pro|" {
		t.Errorf("the newest: %s", got)
	}
	begun := make(chan struct{}, 8)
	all := make(chan string)
	go func() {
		var b strings.Builder
		err := Logs(t.Context(), j, control.LogsQuery{Follow: true, Tail: &one}, func(x control.Said) error {
			b.WriteString(word(x))
			begun <- struct{}{}
			return nil
		})
		all <- fmt.Sprint(b.String(), err)
	}()
	<-begun
	if err := os.WriteFile(leash, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := <-all
	if got != "stdout:two stdout:prompt stderr:last| <nil>" && got != "stdout:two stderr:last| stdout:prompt <nil>" {
		t.Errorf("followed: %s", got)
	}
	if end := Of(j); end.State != "exited" || *end.ExitCode != 3 || end.Counts.StdoutLines != 3 || end.Ended == "" {
		t.Errorf("%+v", end)
	}
}

// What is kept and what is told to be missing make up what was said, whatever
// memory holds.
func TestLogsAfterLoss(t *testing.T) {
	s := shop(t)
	const lines = 25_000
	j := run(t, s, "both", fmt.Sprint(lines))
	<-j.Done()
	total := map[string]int{}
	missing := map[string]int{}
	err := Logs(t.Context(), j, control.LogsQuery{}, func(x control.Said) error {
		if x.Dropped > 0 {
			missing[x.Stream] += int(x.Dropped)
		} else {
			total[x.Stream]++
		}
		return nil
	})
	counts := Of(j).Counts
	for stream, want := range map[string]uint64{"stdout": counts.StdoutLines, "stderr": counts.StderrLines} {
		if got := total[stream] + missing[stream]; err != nil || got != int(want) || missing[stream] == 0 {
			t.Errorf("%s: %d lines and %d missing of %d, %v", stream, total[stream], missing[stream], want, err)
		}
	}
}

// A line of any length is told whole, in pieces that make it up.
func TestLongLine(t *testing.T) {
	s := shop(t)
	j := run(t, s, "long-line", "3000001")
	<-j.Done()
	var got int
	ended := false
	err := Logs(t.Context(), j, control.LogsQuery{}, func(x control.Said) error {
		got += len(x.Text) + int(x.Dropped)<<20 // pieces of a megabyte that memory did not hold
		ended = !x.Partial
		return nil
	})
	if err != nil || got != 3_000_000 || !ended {
		t.Errorf("%d bytes, ended by a newline: %v, %v", got, ended, err)
	}
}

func TestStop(t *testing.T) {
	s := shop(t)
	d := answers{&Store{Jobs: s}}
	j := run(t, s, "sleep")
	accepted := false
	end, err := d.Stop(t.Context(), control.StopOrder{ID: j.ID(), Now: true}, func() error { accepted = true; return nil })
	if err != nil || !accepted || end.State != "killed" || end.Signal != "SIGKILL" || end.EndedBy != "kill" {
		t.Errorf("%+v %v", end, err)
	}
	again, err := d.Stop(t.Context(), control.StopOrder{ID: j.ID()}, func() error { return nil })
	if err != nil || again.Signal != "SIGKILL" {
		t.Errorf("again: %+v %v", again, err)
	}
	if _, err := d.Stop(t.Context(), control.StopOrder{ID: "x"}, nil); !errors.Is(err, control.ErrNoJob) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := d.Logs(t.Context(), control.LogsQuery{ID: "x"}, nil); !errors.Is(err, control.ErrNoJob) {
		t.Errorf("unknown: %v", err)
	}
	// Who gives up does not keep the job from ending.
	j = run(t, s, "sleep")
	if _, err := d.Stop(t.Context(), control.StopOrder{ID: j.ID(), Now: true}, func() error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
	<-j.Done()
	if jobs := d.Jobs(); len(jobs) != 2 || jobs[0].ID != j.ID() {
		t.Errorf("%+v", jobs)
	}
}
