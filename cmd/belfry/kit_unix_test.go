//go:build unix

package main

import (
	"os"
	"os/exec"
	"testing"
)

// belfry makes a command that runs this binary as belfry, in a process of its own.
func belfry(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Args = append([]string{"belfry"}, args...)
	return cmd
}
