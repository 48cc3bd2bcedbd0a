package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// sharing is an agent of the shared server.
var sharing = setup{shared: true, args: []string{"--shared"}, env: map[string]string{"BELFRY_IDLE_TIMEOUT_MS": "60000"}}

// agent is an agent of a folder's own shared server, which ends with the test.
func agent(t *testing.T) *server {
	t.Helper()
	return agentAs(t, sharing)
}

func agentAs(t *testing.T, o setup) *server {
	t.Helper()
	s := prepare(t, o)
	t.Cleanup(s.noTraces)
	t.Cleanup(func() { s.cli(0, "daemon", "stop", "--force") })
	s.joinAs(o)
	return s
}

// join attaches an agent. What the daemon runs stays when it leaves, so nothing
// is looked for then.
func (s *server) join() { s.t.Helper(); s.joinAs(sharing) }

func (s *server) joinAs(o setup) {
	s.t.Helper()
	s.stderr, s.ended = &buffer{}, false
	s.connect(o, func() {
		if !s.ended {
			s.leaves()
		}
	})
}

// daemonPID is the process of the shared server.
func (s *server) daemonPID() int {
	s.t.Helper()
	var d struct{ PID int }
	s.must(json.Unmarshal([]byte(s.cli(0, "daemon", "status", "--json")), &d))
	return d.PID
}

// The daemon is killed, or stopped and started, or made to leave by force, while a
// detached job prints: the agent that stays attached has every line once, and the
// exit code.
func TestDetachedJobOutlivesDaemon(t *testing.T) {
	need(t, "sh")
	for name, end := range map[string]func(*server){
		"killed":    func(s *server) { s.must(syscall.Kill(s.daemonPID(), syscall.SIGKILL)) },
		"stopped":   func(s *server) { s.cli(0, "daemon", "stop") },
		"restarted": func(s *server) { s.cli(0, "daemon", "restart") },
		"stopped by force": func(s *server) {
			s.must(syscall.Kill(s.daemonPID(), syscall.SIGSTOP))
			s.cli(0, "daemon", "stop", "--force")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := agent(t)
			id := s.begin(s.twoParts("go"), detached).JobID
			s.line(id, "half")
			before, cursor := s.pages(id, 0)
			end(s)
			s.open("go")
			s.status(id) // is sent again where the daemon is gone
			s.exited(s.end(id), 9)
			rest, _ := s.pages(id, cursor)
			s.wholeOf(append(before, rest...))
		})
	}
}

// The same of the shared server, which an agent that stays goes on with.
func TestDetachedQueueOutlivesDaemon(t *testing.T) {
	need(t, "sh")
	one := sharing
	one.env = maps.Clone(sharing.env)
	one.env["BELFRY_MAX_CONCURRENT_JOBS"] = "1"
	s := agentAs(t, one)
	first, behind := s.queued("go")
	s.must(syscall.Kill(s.daemonPID(), syscall.SIGKILL))
	s.open("go")
	s.status(first) // is sent again where the daemon is gone
	s.exited(s.end(first), 3)
	s.haveTurns(behind)
}

// Another version takes over while the job runs.
func TestDetachedJobOutlivesUpgrade(t *testing.T) {
	need(t, "sh")
	s := agent(t)
	id := s.begin(s.twoParts("go"), detached).JobID
	s.line(id, "half")
	before, cursor := s.pages(id, 0)
	s.leaves()
	s.cli(0, "daemon", "stop")

	newer := filepath.Join(s.dir, "newer", filepath.Base(s.exe))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-X main.version=99.1.0", "-o", newer, "./cmd/belfry")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	older := s.exe
	s.exe = newer
	s.join()
	if r := s.status(id); r.State != "running" {
		t.Errorf("%+v", r)
	}
	s.open("go")
	s.exited(s.end(id), 9)
	rest, _ := s.pages(id, cursor)
	s.wholeOf(append(before, rest...))
	// And back again.
	s.leaves()
	s.cli(0, "daemon", "stop")
	t.Cleanup(func() { waitNone(t, "processes of the newer belfry", (&server{t: t, exe: newer}).own) })
	s.exe = older
	s.join()
	s.exited(s.status(id), 9)
	again, _ := s.pages(id, 0)
	s.wholeOf(again)
}

// However much a job prints, its transcript stays bounded, and what is left of it
// is the same before and after.
func TestDetachedTranscriptIsBounded(t *testing.T) {
	s := serve(t, setup{})
	const mebibytes = 96
	id := s.begin(helper("lines", fmt.Sprint(mebibytes<<20/80)), detached).JobID
	r := s.end(id)
	s.exited(r, 0)
	if r.Counts.StdoutBytes != mebibytes<<20/80*80 {
		t.Errorf("%+v", r.Counts)
	}
	before, _ := s.pages(id, 0)
	s.wait(id)
	if size := s.transcripts(); size == 0 || size > 8<<20 {
		t.Errorf("the transcript of an ended job takes %d bytes", size)
	}
	s.killed()
	next := s.again(setup{})
	after, _ := next.pages(id, 0)
	if len(before) == 0 || fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("%d lines before, %d after", len(before), len(after))
	}
	if c := next.status(id).Counts; c != r.Counts {
		t.Errorf("%+v, want %+v", c, r.Counts)
	}
}

// transcripts is the size of all that is kept of detached jobs.
func (s *server) transcripts() (size int64) {
	s.t.Helper()
	err := filepath.WalkDir(s.path(".local"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			size += fi.Size()
		}
		return err
	})
	s.must(err)
	return size
}
