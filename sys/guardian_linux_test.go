package sys_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("leaky-supervisor", leakySupervisor) }

// leakySupervisor is a supervisor whose every pipe a stranger holds open too.
func leakySupervisor(args []string) int {
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.Mechanism(args[2]), Parent: args[0]})
	if err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		return 1
	}
	path, argv, env := systest.Command("tree", "stay", leashOf(args[1]))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 1
	}
	tree, err := h.Start(ctxForever, sys.Spec{Path: path, Argv: argv, Env: append(env, args[1]),
		Dir: "/", Stdio: [3]*os.File{null, os.Stdout, null}})
	if err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		return 1
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	leaked := 0
	for _, e := range fds {
		fd, _ := strconv.Atoi(e.Name())
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); fd > 2 && (strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, "socket:")) {
			syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFD, 0)
			leaked++
		}
	}
	path, argv, _ = systest.Command("sleep")
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}})
	if err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		return 1
	}
	fmt.Fprintln(os.Stdout, "leaked", leaked, pid)
	<-tree.Empty()
	return 0
}

// TestLeakedPipe kills a supervisor whose pipes and sockets to its helpers do not
// reach their end, because somebody else holds them.
func TestLeakedPipe(t *testing.T) {
	for _, m := range []sys.Mechanism{sys.PIDNamespace, sys.CgroupV2, sys.Subreaper} {
		t.Run(string(m), func(t *testing.T) { leakedPipe(t, m) })
	}
}

func leakedPipe(t *testing.T, m sys.Mechanism) {
	needs(t, newHost(t, m), m)
	token := newToken(t)
	path, argv, env := systest.Command("leaky-supervisor", parentOfTests(), token, string(m))
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var leaked, stranger int
	for lines, ready := bufio.NewScanner(out), false; !ready || leaked == 0; {
		if !lines.Scan() {
			t.Fatalf("the supervisor ended: %v", lines.Err())
		}
		if ready = ready || lines.Text() == "ready"; lines.Text() == "ready" {
			continue
		}
		if _, err := fmt.Sscanf(lines.Text(), "leaked %d %d", &leaked, &stranger); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
	}
	if m == sys.Subreaper {
		disturbHelpers(t, token)
	}
	cmd.Process.Kill()
	cmd.Wait()
	gone(t, token)
	p, err := os.FindProcess(stranger)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("the stranger was ended too: %v", err)
	}
	p.Release()
}

// disturbHelpers sends a harmless signal to the threads that wait for the
// supervisor's end, which must go on with that.
func disturbHelpers(t *testing.T, token string) {
	t.Helper()
	for _, p := range systest.Survivors(token) {
		if !strings.Contains(p.Command, " tree stay ") {
			continue
		}
		shim := parentOf(t, p.PID)
		for _, pid := range []int{shim, parentOf(t, shim)} {
			if err := syscall.Tgkill(pid, pid, syscall.SIGWINCH); err != nil {
				t.Errorf("signal a helper: %v", err)
			}
		}
		return
	}
	t.Error("no leader")
}

// TestHostWalksParents is a host that ends its server by SIGKILL to everything
// that descends from it.
func TestHostWalksParents(t *testing.T) {
	for _, m := range []sys.Mechanism{sys.PIDNamespace, sys.CgroupV2, sys.Subreaper} {
		t.Run(string(m), func(t *testing.T) { hostWalksParents(t, m) })
	}
}

func hostWalksParents(t *testing.T, m sys.Mechanism) {
	needs(t, newHost(t, m), m)
	for range rounds(t, 50) {
		token := newToken(t)
		path, argv, env := systest.Command("supervisor", string(m), parentOfTests(), token)
		cmd := &exec.Cmd{Path: path, Args: argv, Env: env}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(out); s.Scan() && s.Text() != "ready"; {
		}
		for _, pid := range append(descendants(t, cmd.Process.Pid), cmd.Process.Pid) {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
				p.Release()
			}
		}
		cmd.Wait()
		gone(t, token)
	}
}

func descendants(t *testing.T, root int) []int {
	t.Helper()
	all, err := sys.Processes()
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range all {
			if p.PPID == queue[0] {
				out = append(out, p.ID.PID)
				queue = append(queue, p.ID.PID)
			}
		}
	}
	return out
}

// guardianOf finds the guardian of a host's containers, 0 when there is none.
func guardianOf(dir string) int { return helperOf(dir, sys.IsGuardianOf) }

// helperOf finds the process whose command line is of a kind, for dir.
func helperOf(dir string, is func(args []string, dir string) bool) int {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		args, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if is(strings.Split(strings.TrimRight(string(args), "\x00"), "\x00"), dir) {
			return pid
		}
	}
	return 0
}

// TestGuardianRestart kills the guardian: the guarantee falls, another guardian
// comes, and the guarantee is back. Softer signals do not reach it.
func TestGuardianRestart(t *testing.T) {
	h := newHost(t, "")
	needs(t, h, sys.CgroupV2)
	r := start(t, h, nil, "sleep")
	if g := r.Guarantee(); g.SupervisorDeath != sys.ScopeTree || g.HelperDeath != sys.ScopeLeader {
		t.Fatalf("guarantee at the start: %+v", g)
	}
	dir := sys.ContainersOf(h)
	first := guardianOf(dir)
	if first == 0 {
		t.Fatal("no guardian runs")
	}
	for _, pid := range descendants(t, os.Getpid()) {
		if pid == first {
			t.Error("the guardian descends from the supervisor")
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := syscall.Kill(first, sig); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatalf("the guardian did not outlive soft signals: %v", err)
	}
	fell := false
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		scope := r.Guarantee().SupervisorDeath
		fell = fell || scope == sys.ScopeLeader
		if fell && scope == sys.ScopeTree {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("fell: %v, now %s", fell, scope)
		}
	}
	if second := guardianOf(dir); second == 0 || second == first {
		t.Errorf("guardian %d after %d", second, first)
	}
	if r.Stopped() || len(r.Exited()) != 0 {
		t.Error("the job noticed")
	}
}

// TestGuardianLeaves ends with its host, and takes the directory along.
func TestGuardianLeaves(t *testing.T) {
	h, err := sys.NewHost(systest.Options())
	if err != nil {
		t.Fatal(err)
	}
	needs(t, h, sys.CgroupV2)
	dir := sys.ContainersOf(h)
	if guardianOf(dir) == 0 {
		t.Error("Probe left no guardian")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if pid := guardianOf(dir); pid != 0 {
		t.Errorf("guardian %d is still there", pid)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}
