//go:build unix

package e2e

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// A command that has ended has ended, whoever in its tree still holds the pipes.
func TestBackgroundChildHoldsThePipes(t *testing.T) {
	t.Parallel()
	need(t, "bash")
	s := serve(t, setup{})
	j := s.begin([]string{"bash", "-c", "sleep 30 & echo done"})
	r := s.end(j.JobID)
	s.exited(r, 0)
	if !r.confirmed() {
		t.Errorf("not confirmed: %+v", r)
	}
	if got := s.text(j.JobID, "both"); got != "done\n" {
		t.Errorf("text %q", got)
	}
	if took := since(t, r); took > 20*time.Second {
		t.Errorf("ended %v after its start: it waited for the sleep", took)
	}
	s.wantNone("after the end")
}

// since is the time between start and end that the record tells.
func since(t *testing.T, r record) time.Duration {
	t.Helper()
	begin, err := time.Parse(time.RFC3339, r.StartedAt)
	if err != nil {
		t.Fatal(err)
	}
	end, err := time.Parse(time.RFC3339, r.EndedAt)
	if err != nil {
		t.Fatal(err)
	}
	return end.Sub(begin)
}

// A kill reaches the server behind two shells: its port is free.
func TestKillFreesThePort(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	inner := strings.Join(helper("listen"), " ")
	j := s.ready(shell(fmt.Sprintf(`sh -c "%s"; true`, inner)))
	port, _, _ := strings.Cut(s.text(j.JobID, "stdout"), "\n")
	address := net.JoinHostPort("127.0.0.1", port)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("the port is not held: %v", err)
	}
	c.Close()
	if r := s.kill(j.JobID); !r.confirmed() || r.State != "killed" {
		t.Errorf("kill: %+v", r)
	}
	s.wantNone("after the kill")
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the port is still held after the kill")
	}
}

// A script that is stopped cleans up, and what it says then is kept.
func TestStoppedScriptCleansUp(t *testing.T) {
	t.Parallel()
	need(t, "bash")
	s := serve(t, setup{env: map[string]string{"BELFRY_KILL_GRACE_MS": "30000"}})
	j := s.ready([]string{"bash", "-c", `trap "echo cleaned; exit 0" TERM EXIT; sleep 300 & echo ready; wait`})
	r := s.kill(j.JobID)
	if !r.confirmed() || r.State != "killed" || r.Signal != "SIGTERM" {
		t.Errorf("kill: %+v", r)
	}
	if got := s.text(j.JobID, "both"); !strings.HasSuffix(got, "\ncleaned\n") {
		t.Errorf("text %q does not end with the clean-up's", got)
	}
	s.wantNone("after the kill")
}

// What was told to be dead does not write any more.
func TestNoWriteAfterTheConfirmedKill(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	for _, stubborn := range [][]string{nil, {"stubborn"}} {
		file := s.path(fmt.Sprintf("grow%d", len(stubborn)))
		writer := strings.Join(helper("grow", append([]string{file}, stubborn...)...), " ")
		j := s.ready(shell(writer + " & wait"))
		if r := s.kill(j.JobID); !r.confirmed() {
			t.Errorf("kill: %+v", r)
		}
		before := size(t, file)
		s.wantNone("after the kill")
		<-time.After(300 * time.Millisecond) // 30 writes of a living writer
		if after := size(t, file); after != before {
			t.Errorf("the file grew from %d to %d bytes after the confirmed kill", before, after)
		}
	}
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A killed job is not a success.
func TestKilledIsNotExited(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	j := s.begin([]string{"sleep", "300"})
	s.kill(j.JobID)
	r := s.status(j.JobID)
	if r.State != "killed" || r.Signal != "SIGTERM" || r.ExitCode != nil || r.EndedBy != "kill" || !r.confirmed() {
		t.Errorf("killed: %+v", r)
	}
	// Its own signal is another cause.
	own := s.end(s.begin(shell("kill -USR1 $$")).JobID)
	if own.State != "killed" || own.Signal != "SIGUSR1" || own.EndedBy != "signal" || own.ExitCode != nil {
		t.Errorf("ended by its own signal: %+v", own)
	}
}

// A deadline holds whatever shape the shell gives the tree.
func TestDeadlineHoldsForAllShellShapes(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{env: map[string]string{"BELFRY_MAX_CONCURRENT_JOBS": "32"}})
	shapes := []string{"sleep 60", "sleep 60; true", "sleep 60 & wait", "(sleep 60)", "sleep 60 | cat"}
	jobs := map[string]string{}
	for _, sh := range []string{"sh", "bash", "dash"} {
		if !allowed(sh) {
			t.Logf("%s is not installed: left out", sh)
			continue
		}
		for _, shape := range shapes {
			jobs[sh+" "+shape] = s.begin([]string{sh, "-c", shape}, args{"deadline_ms": 2000}).JobID
		}
	}
	for name, id := range jobs {
		r := s.end(id)
		if r.State != "failed" || r.EndedBy != "deadline" || r.Diagnostic == nil || r.Diagnostic.Code != "deadline" || !r.confirmed() {
			t.Errorf("%s: %+v", name, r)
		}
		if took := since(t, r); took < 1990*time.Millisecond || took > 40*time.Second {
			t.Errorf("%s: ended after %v", name, took)
		}
	}
	s.wantNone("after the deadlines")
}

// allowed reports whether one of the usual programs is installed.
func allowed(name string) bool {
	for _, p := range programs() {
		if strings.HasSuffix(p, "/"+name) {
			return true
		}
	}
	return false
}
