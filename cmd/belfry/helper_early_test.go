package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A helper of a run ends before the packages of the protocol are initialised: a
// run starts up to three, and its command waits for them.
func TestHelperComesFirst(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: exe, Args: []string{"belfry-helper", "no such role"}, Env: append(os.Environ(), "GODEBUG=inittrace=1")}
	out, _ := cmd.CombinedOutput() // its status is looked at below
	if got := cmd.ProcessState.ExitCode(); got != 2 {
		t.Fatalf("status %d, want 2: %s", got, out)
	}
	if !strings.Contains(string(out), "init runtime @") {
		t.Fatalf("no trace: %s", out)
	}
	if strings.Contains(string(out), "init github.com/belfry-dev/belfry/server @") {
		t.Errorf("initialised first: %s", out)
	}
}
