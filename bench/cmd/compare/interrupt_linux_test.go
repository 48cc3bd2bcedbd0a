package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterrupted: Ctrl-C leaves neither a process nor a file.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir, temp := t.TempDir(), t.TempDir()
	begun := filepath.Join(dir, "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	deaf := filepath.Join(dir, "deaf") // a server that answers nothing and outlives its input
	if err := os.WriteFile(deaf, []byte("#!/bin/sh\necho >'"+begun+"'\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	argv, err := roleArgv("compare", "-belfry", deaf, "-only", "kill", "-out", dir)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Stderr = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(begun); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	err = cmd.Wait()
	_ = r.SetReadDeadline(time.Now().Add(20 * time.Second)) // a pipe has deadlines
	said, rerr := io.ReadAll(r)                             // to the end of all that hold it
	if rerr != nil {
		t.Errorf("a process was left behind: %v", rerr)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(said), "interrupt") {
		t.Errorf("%v: %s", err, said)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "report.md")); err == nil {
		t.Error("a report was written")
	}
}
