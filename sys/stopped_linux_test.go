package sys_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// Helpers that a job of the same user has stopped, or traces.

func init() { systest.Register("tracer", tracer) }

// tracer holds every thread of a process, which no SIGCONT continues, until its
// own end.
func tracer(args []string) int {
	runtime.LockOSThread()
	threads, err := os.ReadDir("/proc/" + args[0] + "/task")
	for _, e := range threads {
		tid, _ := strconv.Atoi(e.Name())
		if aerr := syscall.PtraceAttach(tid); aerr != nil {
			err = aerr
		}
	}
	fmt.Fprintln(os.Stdout, "traced", err)
	_, _ = os.Stdin.Read(make([]byte, 1))
	return 0
}

// trace has another process trace this one until the test's end.
func trace(t *testing.T, pid int) {
	t.Helper()
	path, argv, env := systest.Command("tracer", strconv.Itoa(pid))
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env}
	leash, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		leash.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "traced <nil>\n" {
		t.Skipf("no process may be traced here: %q %v", line, err)
	}
	until(t, "it is stopped", func() bool { return stateOf(pid) == "t" })
}

func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "it is stopped", func() bool { return stateOf(pid) == "T" })
}

// TestStoppedHelperNextJob: a job that stops what the next one would be started
// by, in whatever way, keeps nobody from starting.
func TestStoppedHelperNextJob(t *testing.T) {
	for name, how := range map[string]func(*testing.T, int){"stopped": stop, "traced": trace} {
		for _, whom := range []string{"spare", "keeper"} {
			t.Run(whom+" "+name, func(t *testing.T) {
				h := newHost(t, sys.Subreaper)
				needs(t, h, sys.Subreaper)
				keeper, spare := sys.HelpersOf(h)
				if keeper == 0 {
					t.Fatal("no keeper runs")
				}
				how(t, map[string]int{"spare": spare, "keeper": keeper}[whom])
				for range 3 {
					r := start(t, h, nil, "exit", "3")
					wait(t, "empty", r.Empty())
					if e := r.Exit(); e.Code != 3 || r.Proof() != sys.ProofNoChildren {
						t.Errorf("%+v, %s", e, r.Proof())
					}
				}
			})
		}
	}
}

// TestStoppedHelperIsNotWaitedFor: a helper that ought to end soon, and is stopped
// or waits for one that is, is ended with it.
func TestStoppedHelperIsNotWaitedFor(t *testing.T) {
	h := newHost(t, sys.ProcessGroup)
	for name, script := range map[string]string{
		"itself":    "kill -STOP $$",
		"its child": "/bin/sh -c 'kill -STOP $$' & wait",
	} {
		t.Run(name, func(t *testing.T) {
			null, err := nullFile(t)
			if err != nil {
				t.Fatal(err)
			}
			token := newToken(t)
			sp := specOf(t, null, []string{token}, "exit", "0")
			sp.Path, sp.Argv = "/bin/sh", []string{"sh", "-c", script}
			if e, err := sys.EndSoon(h, sp); err != nil || e.Signal != sys.SIGKILL {
				t.Errorf("%+v %v", e, err)
			}
			gone(t, token)
		})
	}
}

// TestStoppedGuardian: one that is stopped ends nobody when the supervisor is
// killed, and what is told says so until it goes on.
func TestStoppedGuardian(t *testing.T) {
	h := sweeping(t, filepath.Join(t.TempDir(), "records"))
	needs(t, h, sys.CgroupV2)
	r := start(t, h, nil, "sleep")
	guardian := guardianOf(sys.ContainersOf(h))
	scope := func(want sys.Scope) {
		t.Helper()
		for deadline := time.Now().Add(hang); r.Guarantee().SupervisorDeath != want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the supervisor's end reaches %s, want %s", r.Guarantee().SupervisorDeath, want)
			}
		}
	}
	scope(sys.ScopeTree)
	if err := syscall.Kill(guardian, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	scope(sys.ScopeTreeOnRestart)
	null, err := nullFile(t)
	if err != nil {
		t.Fatal(err)
	}
	sp := specOf(t, null, nil, "exit", "0")
	sp.Want = sys.LevelTree
	if _, err := h.Start(t.Context(), sp); err == nil || !strings.Contains(err.Error(), "SIGSTOP") {
		t.Errorf("a tree that must end with us: %v", err)
	}
	if err := syscall.Kill(guardian, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	scope(sys.ScopeTree)
}

// TestStoppedGuardianGoes: one that a job has stopped does not stay for ever,
// neither when its supervisor ends nor when that was killed.
func TestStoppedGuardianGoes(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	t.Run("closed", func(t *testing.T) {
		h := sweeping(t, filepath.Join(t.TempDir(), "records"))
		start(t, h, nil, "exit", "0")
		dir := sys.ContainersOf(h)
		stop(t, guardianOf(dir))
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		until(t, "the guardian has ended", func() bool { return guardianOf(dir) == 0 })
	})
	t.Run("killed", func(t *testing.T) {
		group, records, token := groupFor(t), filepath.Join(t.TempDir(), "records"), newToken(t)
		cmd, guardian := recorded(t, group, records, token)
		stop(t, guardian)
		cmd.Process.Kill()
		cmd.Wait()
		if got := sweepAll(t, records); len(got) != 1 || got[0].Outcome != sys.SweptEnded {
			t.Errorf("%+v", got)
		}
		gone(t, token)
		until(t, "the guardian has ended", func() bool { return stateOf(guardian) == "" })
	})
}

// stateOf is the letter of a process's state, "" when it is gone.
func stateOf(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := bytes.Cut(line, []byte(") "))
	if len(after) == 0 || after[0] == 'Z' {
		return ""
	}
	return string(after[:1])
}
