package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/runner"
)

// The first process of a container detaches nothing: all ends with it.
func TestFirstProcessDetachesNothing(t *testing.T) {
	q := newQuarters(t)
	cmd := q.command("run", "--detach", "--run-id", "lost", "--", "sleep", "300")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	_ = cmd.Wait() // its status is looked at
	if cmd.ProcessState.ExitCode() != runner.ExitSetup || !strings.Contains(said.String(), "process 1 of its container") {
		t.Errorf("%v, said %q", cmd.ProcessState, said.String())
	}
	if list := q.verb("list", "--json"); list != "" {
		t.Errorf("the list is %s", list)
	}
}
