//go:build unix

package e2e

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The job's own PATH finds its programs.
func TestPathOfTheJob(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	bin := s.path("opt-x-bin")
	s.must(os.Mkdir(bin, 0o755))
	s.must(os.Symlink(helperExe, filepath.Join(bin, "xtool")))
	path := map[string]string{"PATH": bin + ":/usr/bin:/bin"}
	j := s.begin([]string{"xtool", helperVerb, "argv", "ran"}, args{"vars": path})
	s.exited(s.end(j.JobID), 0)
	if got := s.text(j.JobID, "stdout"); got != "[\"72616e\"]\n" {
		t.Errorf("text %q", got)
	}
	missing := s.tool("run", s.runArgs([]string{"no-such-tool"}, args{"vars": path}))
	if missing.State != "failed" || missing.Diagnostic == nil || missing.Diagnostic.Code != "not_found" ||
		!strings.Contains(missing.Diagnostic.Message, bin) {
		t.Errorf("a missing tool: %+v does not show the PATH that was searched", missing.Diagnostic)
	}
}

// What the server knows stays with the server.
func TestSecretsStayWithTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{env: map[string]string{"FAKE_API_KEY": "sekrit-123"}})
	j := s.tool("run", args{"command": []string{"env"}})
	s.exited(s.end(j.JobID), 0)
	text := s.text(j.JobID, "both")
	var names []string
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"HOME", "PATH"}) {
		t.Errorf("a job's environment is\n%s", text)
	}
}

// Arguments arrive byte for byte.
func TestArgumentsArriveWhole(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	want := []string{"", " ", "a b", "$HOME", "it's", `say "x"`, "*", "line1\nline2", "-x", "\u00e9\u6f22\U0001F600", `\`, "`id`"}
	j := s.begin(helper("argv", want...))
	s.exited(s.end(j.JobID), 0)
	var got []string
	s.must(json.Unmarshal([]byte(s.text(j.JobID, "stdout")), &got))
	for i := range got {
		b, err := hex.DecodeString(got[i])
		s.must(err)
		got[i] = string(b)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is wrong is told apart, and each tells what it is about.
func TestBadFolderProgramAndMode(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{allow: []string{"/nope/x"}})
	plain := s.path("plain-file")
	s.must(os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644))
	s.allow(plain, "/nope/x")
	for _, c := range []struct {
		name, code, path string
		a                args
	}{
		{"folder", "cwd_missing", "/nope", s.runArgs([]string{"true"}, args{"cwd": "/nope"})},
		{"a file as folder", "cwd_not_directory", plain, s.runArgs([]string{"true"}, args{"cwd": plain})},
		{"program", "not_found", "/nope/x", s.runArgs([]string{"/nope/x"})},
		{"mode", "not_executable", plain, s.runArgs([]string{plain})},
	} {
		r := s.tool("run", c.a)
		if r.State != "failed" || r.EndedBy != "spawn_failed" || r.Diagnostic == nil || r.Diagnostic.Code != c.code ||
			!strings.Contains(r.Diagnostic.Message, c.path) {
			t.Errorf("%s: %+v, want code %s and the path %s", c.name, r.Diagnostic, c.code, c.path)
		}
	}
}

// A queue shows each its place, and moves on.
func TestQueueShowsPlaces(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{env: map[string]string{"BELFRY_MAX_CONCURRENT_JOBS": "1"}})
	gate := newGate(s)
	ran := s.path("b-ran")
	a := s.ready(shell(gate.wait() + "; exit 4"))
	b := s.begin(shell("touch " + ran))
	c := s.begin(shell("echo c"))
	if got := s.status(c.JobID); got.QueuePosition != 2 || got.State != "starting" || got.PID != 0 {
		t.Errorf("C: %+v, want place 2", got)
	}
	var list struct{ Jobs []record }
	_, err := s.Tool(s.within(), "list", args{}, &list)
	s.must(err)
	if got := list.Jobs; len(got) != 3 || got[2].JobID != a.JobID || got[2].State != "running" || got[1].QueuePosition != 1 {
		t.Errorf("the list does not show what is ahead: %+v", got)
	}
	if got := s.kill(b.JobID); got.State != "killed" || got.EndedBy != "queue_cancelled" || got.ExitCode != nil {
		t.Errorf("B: %+v", got)
	}
	if got := s.status(c.JobID); got.QueuePosition != 1 {
		t.Errorf("C: %+v, want place 1", got)
	}
	gate.open()
	ended := s.end(a.JobID)
	s.exited(ended, 4)
	after := s.end(c.JobID)
	s.exited(after, 0)
	if after.EndedAt < ended.EndedAt {
		t.Errorf("C ended at %s, before A at %s", after.EndedAt, ended.EndedAt)
	}
	if _, err := os.Stat(ran); !os.IsNotExist(err) {
		t.Errorf("B ran: %v", err)
	}
}
