package sys_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("recorded-supervisor", recordedSupervisor)
	systest.Register("dies-at-step", diesAtStep)
}

// recordedSupervisor runs one hostile tree, or a helper, and keeps a record of it:
// PARENT RECORDS TOKEN [HELPER ARG...]. Without a token it only prepares, as a
// server does.
func recordedSupervisor(args []string) int {
	fail := func(err error) int { fmt.Fprintln(os.Stdout, "error", err); return 1 }
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.CgroupV2, Parent: args[0], Records: args[1]})
	if err != nil {
		return fail(err)
	}
	if len(args) < 3 {
		h.Prepare()
		fmt.Fprintln(os.Stdout, "guardian", 0)
		select {}
	}
	helper := []string{"tree", "stay", leashOf(args[2])}
	if len(args) > 3 {
		helper = args[3:]
	}
	path, argv, env := systest.Command(helper[0], helper[1:]...)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	tree, err := h.Start(ctxForever, sys.Spec{Path: path, Argv: argv, Env: append(env, args[2]),
		Dir: "/", Stdio: [3]*os.File{null, os.Stdout, null}})
	if err != nil {
		return fail(err)
	}
	fmt.Fprintln(os.Stdout, "guardian", guardianOf(sys.ContainersOf(h)), tree.Guarantee().HelperDeath)
	<-tree.Empty()
	return 0
}

// diesAtStep is a host that gets no further than a step of its start: STEP
// RECORDS PARENT.
func diesAtStep(args []string) int {
	step, _ := strconv.Atoi(args[0])
	err := sys.DieAt(step, args[1], args[2], func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})
	fmt.Fprintln(os.Stdout, "error", err)
	return 1
}

// groupFor makes a control group for one test, which is empty at its end.
func groupFor(t *testing.T) string {
	t.Helper()
	if parentOfTests() == "" {
		t.Skip("no control group can be made here")
	}
	dir := filepath.Join(parentOfTests(), "belfry-test-"+rand.Text())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no control group can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Errorf("something was left: %v", err)
		}
	})
	return dir
}

// sweeping is a host that sweeps.
func sweeping(t *testing.T, records string) sys.Host {
	t.Helper()
	h, err := sys.NewHost(sys.HostOptions{Parent: parentOfTests(), Records: records})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func sweepAll(t *testing.T, records string) []sys.SweepResult {
	t.Helper()
	out, err := sweeping(t, records).Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// files are the records in a directory.
func files(t *testing.T, records string) []string {
	t.Helper()
	out, err := filepath.Glob(records + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// recorded starts a supervisor and gives it with its guardian's number.
func recorded(t *testing.T, args ...string) (cmd *exec.Cmd, guardian int) {
	t.Helper()
	return recordedBy(t, nil, args...)
}

// recordedBy starts it by another program.
func recordedBy(t *testing.T, by []string, args ...string) (cmd *exec.Cmd, guardian int) {
	t.Helper()
	path, argv, env := systest.Command("recorded-supervisor", args...)
	cmd = &exec.Cmd{Path: path, Args: argv, Env: env, Stderr: os.Stderr}
	if len(by) > 0 {
		cmd.Path, cmd.Args = by[0], append(append(by, path), argv[1:]...)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var scope string
	ready := len(args) < 3
	told := false
	for lines := bufio.NewScanner(out); !ready || !told; {
		if !lines.Scan() {
			t.Fatalf("the supervisor ended: %v", lines.Err())
		}
		switch line := lines.Text(); {
		case line == "ready" || line == "moved":
			ready = true
		case strings.HasPrefix(line, "guardian "):
			told = true
			if fmt.Sscanf(line, "guardian %d %s", &guardian, &scope); len(args) >= 3 && scope != string(sys.ScopeTreeOnRestart) {
				t.Errorf("the end of the helper reaches %q, want the tree on restart", scope)
			}
		default:
			t.Fatal(line)
		}
	}
	return cmd, guardian
}

// killBoth kills a supervisor and its guardian, so that neither can act.
func killBoth(t *testing.T, cmd *exec.Cmd, guardian int) {
	t.Helper()
	for _, p := range []struct {
		pid int
		sig syscall.Signal
	}{{cmd.Process.Pid, syscall.SIGSTOP}, {guardian, syscall.SIGKILL}, {cmd.Process.Pid, syscall.SIGKILL}} {
		if err := syscall.Kill(p.pid, p.sig); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Wait()
}
