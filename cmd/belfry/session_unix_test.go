//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/server/client"
)

// syncBuffer collects the server's talk while the test may read it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// session is a server in a process of its own and its only client.
type session struct {
	*client.Client
	t      *testing.T
	stderr syncBuffer
}

// serve starts a server that allows sh, and opens the connection.
func serve(t *testing.T) *session {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(policy, []byte(`{"allow":["/bin/sh"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t}
	cmd := belfry(t, "mcp", "--policy", policy)
	cmd.Env = append(cmd.Environ(), "BELFRY_STATE_DIR="+t.TempDir()) // no detached jobs of this user
	cmd.Stderr = &s.stderr
	var err error
	if s.Client, err = client.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // Best effort: a test that got so far has waited already.
	if _, err := s.Open(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &s.stderr)
	}
	return s
}

// job starts a shell line that says "ready", waits until it has, and gives its
// leader's process id.
func (s *session) job(line string) int {
	s.t.Helper()
	var j struct {
		JobID  string `json:"job_id"`
		PID    int
		Events []struct{ Text string }
	}
	for _, call := range []struct {
		tool string
		args map[string]any
	}{
		{"run", map[string]any{"command": line, "shell": true}},
		{"follow", map[string]any{"cursor": 0}},
		{"status", map[string]any{}},
	} {
		call.args["job_id"] = j.JobID
		if _, err := s.Tool(s.t.Context(), call.tool, call.args, &j); err != nil {
			s.t.Fatalf("%v\n%s", err, &s.stderr)
		}
	}
	if len(j.Events) == 0 || j.Events[0].Text != "ready" || !present(j.PID) {
		s.t.Fatalf("the job is not ready: %+v", j)
	}
	return j.PID
}

// present tells whether a process, or its zombie, is there. A leader is the
// server's own child: nothing of it may be left once the server has ended.
func present(pid int) bool { return syscall.Kill(pid, 0) == nil }

// ends waits for the server's end and gives its status.
func (s *session) ends() int {
	s.t.Helper()
	err := s.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

func TestEndsOfAServer(t *testing.T) {
	signals := func(sigs ...syscall.Signal) func(*session) error {
		return func(s *session) error {
			for _, sig := range sigs {
				if err := s.Process().Signal(sig); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, c := range []struct {
		name string
		end  func(*session) error
	}{
		{"end of stdin", func(s *session) error { return s.CloseInput() }},
		{"SIGTERM", signals(syscall.SIGTERM)},
		{"SIGINT", signals(syscall.SIGINT)},
		{"SIGHUP", signals(syscall.SIGHUP)},
		{"one signal after the other", signals(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			polite := s.job(`echo ready; sleep 300`)
			rude := s.job(`trap "" TERM INT HUP; echo ready; sleep 300`)
			if err := c.end(s); err != nil {
				t.Fatal(err)
			}
			if status := s.ends(); status != exitOK {
				t.Errorf("the server ended with status %d\n%s", status, &s.stderr)
			}
			for _, pid := range []int{polite, rude} {
				if present(pid) {
					t.Errorf("process %d outlived the server", pid)
				}
			}
			if strays := s.Strays(); len(strays) > 0 {
				t.Errorf("stdout carries %q", strays)
			}
		})
	}
}

// A client that has closed its end of stdout is an error of a write, not a
// deadly signal: the jobs go on until the input ends, and are then ended.
func TestClosedStdout(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(policy, []byte(`{"allow":["/bin/sh"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := belfry(t, "mcp", "--policy", policy)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	s := &session{t: t, Client: client.New(stdout, stdin)}
	if _, err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := s.job(`echo ready; sleep 300`)

	stdout.Close()
	if _, err := s.Send("ping", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseInput(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // The status says it.
	if status := cmd.ProcessState.ExitCode(); status != exitNo {
		t.Errorf("the server ended with status %d, want %d", status, exitNo)
	}
	if present(pid) {
		t.Errorf("process %d outlived the server", pid)
	}
}
