package sys_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("reuser", reuser)
	systest.Register("newcomer", newcomer)
}

// TestPIDReuse gives the numbers of ended members to strangers while their trees
// are signalled and killed: no signal ever reaches a stranger. It runs in a pid
// namespace of its own, where it may choose the next number.
func TestPIDReuse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot choose the number of the next process")
	}
	systest.Command("newcomer") // which the reuser starts
	for _, m := range []sys.Mechanism{sys.CgroupV2, sys.Subreaper, sys.ProcessGroup} {
		t.Run(string(m), func(t *testing.T) {
			needs(t, newHost(t, m), m)
			path, argv, env := systest.Command("reuser", string(m), parentOfTests(), strconv.Itoa(rounds(t, 100)))
			cmd := &exec.Cmd{Path: path, Args: argv, Env: env, SysProcAttr: &syscall.SysProcAttr{
				Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}}
			runtime.LockOSThread() // the death signal hangs on this thread
			defer runtime.UnlockOSThread()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// newcomer tells every signal that it gets; SIGUSR2 ends it.
func newcomer([]string) int {
	got := make(chan os.Signal, 64)
	signal.Notify(got)
	fmt.Fprintln(os.Stdout, "here")
	for s := range got {
		switch s {
		case syscall.SIGURG: // the runtime's own
		case syscall.SIGUSR2:
			return 0
		default:
			return 1
		}
	}
	return 2
}

// reuser is the first process of a pid namespace: MECHANISM PARENT ROUNDS.
func reuser(args []string) int {
	fail := func(what string, err any) int { fmt.Fprintln(os.Stdout, what, err); return 1 }
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fail("mount", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fail("mount", err)
	}
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.Mechanism(args[0]), Parent: args[1]})
	if err != nil {
		return fail("host", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail("open", err)
	}
	rounds, _ := strconv.Atoi(args[2])
	reused := 0
	for range rounds {
		n, err := reuseRound(h, null)
		if err != nil {
			return fail("round", err)
		}
		reused += n
	}
	fmt.Fprintln(os.Stdout, "reused", reused, "numbers in", rounds, "rounds")
	if reused == 0 {
		return fail("no number", "was used again")
	}
	if err := h.Close(); err != nil {
		return fail("close", err)
	}
	return 0
}

// reuseRound ends one tree of which some members end before, whose numbers
// strangers get.
func reuseRound(h sys.Host, null *os.File) (reused int, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	sp := sys.Spec{Path: "/bin/sh", Argv: []string{"sh", "-c",
		"for i in 1 2 3 4; do setsid sh -c 'echo $$; exec sleep 60' & done; exec sleep 60"},
		Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/", Stdio: [3]*os.File{null, w, null}}
	tree, err := h.Start(ctxForever, sp)
	w.Close()
	if err != nil {
		return 0, err
	}
	pids := make([]int, 4)
	for i := range pids {
		if _, err := fmt.Fscan(r, &pids[i]); err != nil {
			return 0, err
		}
	}
	tree.Members() // so that they are known
	// Two of the members and, every time, the leader end; strangers get their numbers.
	ended := []int{pids[0], pids[1], tree.Leader().PID}
	for _, pid := range ended {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return 0, err
		}
	}
	<-tree.Exited()
	var strangers []*exec.Cmd
	for _, pid := range ended {
		if c := strangerAt(pid); c != nil {
			strangers = append(strangers, c)
		}
	}
	if _, err := tree.Signal(sys.SIGTERM); err != nil {
		return 0, fmt.Errorf("signal: %w", err)
	}
	rep, err := tree.Kill(ctxForever)
	if err != nil || rep.Proof == sys.ProofNone {
		return 0, fmt.Errorf("kill: %+v %w", rep, err)
	}
	if err := tree.Release(); err != nil {
		return 0, err
	}
	for _, c := range strangers {
		if err := c.Process.Signal(syscall.SIGUSR2); err != nil {
			return 0, fmt.Errorf("a stranger was gone: %w", err)
		}
		if err := c.Wait(); err != nil {
			return 0, fmt.Errorf("a stranger was signalled: %w", err)
		}
	}
	return len(strangers), nil
}

// strangerAt starts a stranger that has this number, or gives nil while a held
// zombie or another process keeps it taken.
func strangerAt(pid int) *exec.Cmd {
	path, argv, env := systest.Command("newcomer")
	for deadline := time.Now().Add(50 * time.Millisecond); time.Now().Before(deadline); {
		if os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0) != nil {
			return nil
		}
		c := &exec.Cmd{Path: path, Args: argv, Env: env}
		out, err := c.StdoutPipe()
		if err != nil || c.Start() != nil {
			return nil
		}
		if c.Process.Pid == pid {
			_, _ = fmt.Fscanln(out, new(string)) // it listens to signals now
			return c
		}
		c.Process.Kill()
		c.Wait()
	}
	return nil
}
