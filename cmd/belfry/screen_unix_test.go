//go:build linux || darwin

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shownOn is what a command line prints on a terminal of so many columns, with
// these variables.
func shownOn(t *testing.T, dir, columns string, env []string, args ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "belfry")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", append([]string{"-c", `stty cols "$1" && shift && exec "$0" "$@"`, link, columns}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	o := startOnTerminal(t, cmd, append(env, "BELFRY_REGISTRY_DIR="+dir, "BELFRY_RUNTIME_DIR="+dir)...)
	o.toTheEnd()
	return strings.ReplaceAll(o.said.String(), "\r\n", "\n")
}

// toTheEnd reads until nobody holds the terminal any more.
func (o *onTerminal) toTheEnd() {
	for b := range o.more {
		o.said.Write(b)
	}
}

// What is for people has colours on a terminal, unless they are refused, and fits;
// in a pipe it is plain and whole.
func TestScreens(t *testing.T) {
	dir := t.TempDir()
	const id = "run-with-a-name-that-is-never-cut"
	stream := filepath.Join(dir, "a-folder-of-some-length", "events.jsonl")
	if err := os.Mkdir(filepath.Dir(stream), 0o700); err != nil {
		t.Fatal(err)
	}
	piped := func(args ...string) string {
		t.Helper()
		cmd := belfry(t, args...)
		cmd.Env = append(os.Environ(), "BELFRY_REGISTRY_DIR="+dir, "BELFRY_RUNTIME_DIR="+dir, "TERM=xterm", "NO_COLOR=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return string(out)
	}
	piped("run", "--detach", "--run-id", id, "--jsonl", stream, "--", "sleep", "300")
	defer func() {
		piped("kill", "--run-id", id)
		piped("wait", "--run-id", id)
	}()

	for _, verb := range []string{"list", "jobs"} {
		plain := piped(verb)
		if strings.Contains(plain, "\x1b") || !strings.Contains(plain, id) {
			t.Errorf("%s in a pipe: %q", verb, plain)
		}
		if got := shownOn(t, dir, "1000", nil, verb); !strings.Contains(got, id) || !strings.Contains(got, green) {
			t.Errorf("%s on a terminal: %q", verb, got)
		} else if got = uncoloured(got); got != plain && verb == "list" {
			t.Errorf("%s on a wide terminal without its colours is\n%q\nand in a pipe\n%q", verb, got, plain)
		}
		for _, refused := range []string{"NO_COLOR=1", "TERM=dumb"} {
			if got := shownOn(t, dir, "1000", []string{refused}, verb); strings.Contains(got, "\x1b") || !strings.Contains(got, id) {
				t.Errorf("%s on a terminal with %s: %q", verb, refused, got)
			}
		}
		for line := range strings.Lines(uncoloured(shownOn(t, dir, "90", nil, verb))) {
			if line = strings.TrimSuffix(line, "\n"); cells(line) > 90 || !strings.HasPrefix(line, id) && !strings.Contains(line, "ID ") {
				t.Errorf("%s on a terminal of 90 columns: %q", verb, line)
			}
		}
	}
	if plain := piped("list"); !strings.Contains(plain, stream) {
		t.Errorf("list in a pipe cuts a path: %q", plain)
	}

	begun := piped("events", "--run-id", id)
	if strings.Contains(begun, "\x1b") || !strings.Contains(begun, "Z  run_started ") {
		t.Errorf("events in a pipe: %q", begun)
	}
	got := shownOn(t, dir, "80", nil, "events", "--run-id", id)
	if !strings.Contains(got, "Z"+plainText+"  "+green+"run_started"+plainText+" "+faint) || uncoloured(got) != begun {
		t.Errorf("events on a terminal: %q", got)
	}
	if got := shownOn(t, dir, "80", []string{"NO_COLOR=1"}, "events", "--run-id", id); got != begun {
		t.Errorf("events on a terminal with NO_COLOR: %q", got)
	}
	if got := shownOn(t, dir, "80", nil, "list", "--json"); strings.Contains(got, "\x1b") || got != piped("list", "--json") {
		t.Errorf("list --json on a terminal: %q", got)
	}
	if got := shownOn(t, dir, "80", nil, "events", "--json", "--run-id", id); strings.Contains(got, "\x1b") {
		t.Errorf("events --json on a terminal: %q", got)
	}
}

// A person who follows a run sees each event as it comes, and how it ended.
func TestFollowOnTerminal(t *testing.T) {
	dir := t.TempDir()
	env := []string{"BELFRY_REGISTRY_DIR=" + dir, "BELFRY_RUNTIME_DIR=" + dir, "TERM=xterm", "NO_COLOR="}
	run := func(args ...string) {
		t.Helper()
		cmd := belfry(t, args...)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	run("run", "--detach", "--run-id", "seen", "--jsonl", filepath.Join(dir, "ev"), "--", "sleep", "300")
	o := startOnTerminal(t, belfry(t, "events", "--follow", "--run-id", "seen"), env...)
	o.expect(green + "run_started" + plainText)
	run("kill", "--run-id", "seen")
	o.expect(yellow + "killed" + plainText)
	o.expect(red + "runner_exit" + plainText)
	o.exits(0)
}

func uncoloured(s string) string {
	return strings.NewReplacer(plainText, "", bold, "", faint, "", red, "", green, "", yellow, "").Replace(s)
}
