//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"syscall"
	"testing"
)

// A policy verb does not wait for a writer when its file is a pipe.
func TestPolicyIsAPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range [][]string{{"show"}, {"allow", "go"}, {"check", "--", "sh"}, {"check", "--shell", "--", "true"}} {
		var out, errs bytes.Buffer
		a := &App{Stdout: &out, Stderr: &errs, Env: func(string) string { return "" },
			Args: append([]string{"policy", "--policy", file}, verb...)}
		if status := a.Run(t.Context()); status != exitNo ||
			!bytes.Contains(append(out.Bytes(), errs.Bytes()...), []byte("not a regular file")) {
			t.Errorf("%v: status %d, said %q and %q", verb, status, out.String(), errs.String())
		}
	}
}
