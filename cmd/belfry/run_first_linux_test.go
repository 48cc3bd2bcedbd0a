package main

import (
	"bytes"
	"os"
	"os/exec"
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

// orphans makes five processes whose parents end before them, and ends once all
// of them are gone. One that nobody reaps stays in /proc.
const orphans = `test "$PPID" = 1 || exit 3
for i in 1 2 3 4 5; do (sleep 0.2 & echo $! >>pids); done
for p in $(cat pids); do while test -e /proc/$p; do sleep 0.02; done; done`

// The first process of a container leaves no zombies of a command that runs.
func TestFirstProcessReaps(t *testing.T) {
	own := []string{"--user", "--map-root-user", "--pid", "--fork", "--mount-proc"}
	if out, err := exec.Command("unshare", append(own, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	q := newQuarters(t)
	run := q.command("run", "--timeout", "1m", "--", "sh", "-c", orphans)
	// Without a name of its own it would be the test.
	cmd := exec.CommandContext(t.Context(), "unshare", append(own, "bash", "-c", `exec -a belfry "$0" "$@"`, run.Path)...)
	cmd.Args = append(cmd.Args, run.Args[1:]...)
	cmd.Env, cmd.Dir = run.Env, t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v, said %s", err, out)
	}
}
