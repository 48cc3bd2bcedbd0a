package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// inProcess runs a command line without a process of its own.
func inProcess(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	app := App{
		Stdin:  strings.NewReader(""),
		Stdout: &out,
		Stderr: &err,
		Env:    func(string) string { return "" },
		Args:   args,
	}
	status = app.Run(context.Background())
	return status, out.String(), err.String()
}

// golden compares a text with a file, the version of this build made anonymous.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, versionOf().Version, "VERSION")
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got; make golden rewrites it):\n%s", path, diff)
	}
}

func TestHelp(t *testing.T) {
	var understood bool
	root := (&App{Env: func(string) string { return "" }}).root(&understood)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden {
			return // not for people
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		status, stdout, stderr := inProcess(t, args...)
		if status != exitOK || stderr != "" {
			t.Errorf("%v ended with status %d and said %q", args, status, stderr)
		}
		golden(t, strings.ReplaceAll(c.CommandPath(), " ", "-")+".help", stdout)
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// Every verb tells its statuses, and that 100 is a bad command line is told
// once, at the top.
func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"no-such-verb"},
		{"--no-such-flag"},
		{"version", "extra"},
		{"version", "--no-such-flag"},
		{"policy"},
		{"policy", "no-such-verb"},
		{"policy", "allow"},
		{"policy", "allow", ""},
		{"policy", "check"},
		{"policy", "check", "--no-such-flag"},
		{"policy", "--policy"},
		{"completion"},
		{"completion", "tcsh"},
		{"completion", "bash", "zsh"},
		{"doctor", "--host=maybe"},
		{"inspect"},
		{"cancel", "--all", "--run-id", "a"},
		{"attest", "--run-id", ""},
		{"wait", "--all", "--timeout", "0"},
		{"events"},
		{"list", "--json=false"},
		{"jobs", "extra"},
		{"logs"},
		{"logs", "a", "b"},
		{"logs", "-n", "x", "a"},
		{"logs", "--stream", "both", "a"},
		{"logs", "--json", "--timestamps", "a"},
		{"stop"},
		{"stop", ""},
		{"stop", "--all", "a"},
		{"stop", "--now", "--grace", "1s", "a"},
		{"prune", "--label", "x"},
		{"probe"},
		{"run"},
		{"man", "page"},
		{"mcp", "extra"},
		{"help", "no-such-verb"},
	} {
		status, stdout, stderr := inProcess(t, args...)
		if status != exitUsage {
			t.Errorf("%q ended with status %d", args, status)
		}
		if stdout != "" {
			t.Errorf("%q wrote to stdout: %q", args, stdout)
		}
		if !strings.HasPrefix(stderr, "belfry: ") || !strings.Contains(stderr, "\nhint: ") {
			t.Errorf("%q says %q", args, stderr)
		}
	}
}
