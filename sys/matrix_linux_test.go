package sys_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// parentVariable hands a control group to a test binary that runs as another
// user.
const parentVariable = "BELFRY_TEST_PARENT"

func init() { systest.Register("supervisor", supervisor) }

// supervisor runs one hostile tree and waits to be killed: MECHANISM PARENT TOKEN.
func supervisor(args []string) int {
	fail := func(err error) int { fmt.Fprintln(os.Stdout, "error", err); return 1 }
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.Mechanism(args[0]), Parent: args[1], ThreadsLast: true})
	if err != nil {
		return fail(err)
	}
	path, argv, env := systest.Command("tree", "stay", leashOf(args[2]))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	tree, err := h.Start(ctxForever, sys.Spec{Path: path, Argv: argv, Env: append(env, args[2]),
		Dir: "/", Stdio: [3]*os.File{null, os.Stdout, null}})
	if err != nil {
		return fail(err)
	}
	fmt.Fprintln(os.Stdout, "guarantee", tree.Guarantee().SupervisorDeath)
	fmt.Fprintln(os.Stdout, "leader", tree.Leader().PID)
	<-tree.Empty()
	return 0
}

// TestMatrix ends a hostile tree in every way on every rung that works here.
func TestMatrix(t *testing.T) {
	for _, m := range everyRung {
		t.Run(string(m), func(t *testing.T) {
			h := newHost(t, m)
			needs(t, h, m)
			t.Run("kill", func(t *testing.T) { matrix(t, func(t *testing.T) { endByKill(t, h, m) }) })
			t.Run("leader exit", func(t *testing.T) { matrix(t, func(t *testing.T) { endByLeader(t, h, m) }) })
			t.Run("supervisor death", func(t *testing.T) { matrix(t, func(t *testing.T) { endBySupervisor(t, m) }) })
		})
	}
}

// proofs are what a kill on each rung proves its success by.
var proofs = map[sys.Mechanism]sys.Proof{
	sys.PIDNamespace: sys.ProofNamespaceGone, sys.CgroupV2: sys.ProofCgroupEmpty,
	sys.Subreaper: sys.ProofNoChildren, sys.ProcessGroup: sys.ProofGroupScan,
}

func matrix(t *testing.T, round func(t *testing.T)) {
	for i := range rounds(t, 100) {
		t.Run(fmt.Sprint(i), round)
	}
}

// endOf sweeps what a mere process group is known to leave, and else demands
// that nothing is left.
func endOf(t *testing.T, token string, scope sys.Scope) {
	if scope == sys.ScopeTree {
		gone(t, token)
		return
	}
	sweep(t, token)
}

func endByKill(t *testing.T, h sys.Host, m sys.Mechanism) {
	token := newToken(t)
	r := start(t, h, []string{token}, "tree", "stay", leashOf(token))
	if got := r.line(t); got != "ready" {
		t.Fatal(got)
	}
	// One that is between two programs shows no environment.
	for deadline := time.Now().Add(hang); ; {
		n := len(systest.Survivors(token))
		if n >= 6 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d processes before the kill", n)
		}
	}
	g := r.Guarantee()
	rep, err := r.Kill(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := proofs[m]
	if rep.Proof != want || len(rep.Survivors) != 0 {
		t.Errorf("report %+v, want proof %s", rep, want)
	}
	wait(t, "exited", r.Exited())
	if e := r.Exit(); e.Signal != sys.SIGKILL {
		t.Errorf("exit %+v", e)
	}
	if g.Kill == sys.ScopeTree {
		if left := survivors(token); len(left) != 0 {
			t.Errorf("survivors of a proved kill: %v", left)
		}
	}
	endOf(t, token, g.Kill)
}

func endByLeader(t *testing.T, h sys.Host, m sys.Mechanism) {
	token := newToken(t)
	r := start(t, h, []string{token}, "tree", "exit", leashOf(token))
	if got := r.line(t); got != "ready" {
		t.Fatal(got)
	}
	wait(t, "exited", r.Exited())
	if e := r.Exit(); e.Code != 5 || e.Signal != 0 {
		t.Errorf("exit %+v, want status 5", e)
	}
	g := r.Guarantee()
	if g.LeaderExit == sys.ScopeTree {
		select {
		case <-r.Empty():
			t.Error("proved empty while members live")
		default:
		}
	}
	if _, err := r.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	endOf(t, token, g.LeaderExit)
}

func endBySupervisor(t *testing.T, m sys.Mechanism) {
	token := newToken(t)
	path, argv, env := systest.Command("supervisor", string(m), parentOfTests(), token)
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stderr: os.Stderr}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	scope := sys.Scope("")
	for ready := false; scope == "" || !ready; {
		if !lines.Scan() {
			t.Fatalf("the supervisor ended: %v", lines.Err())
		}
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "guarantee":
			scope = sys.Scope(rest)
		case "ready":
			ready = true
		case "leader":
		default:
			t.Fatal(lines.Text())
		}
	}
	if m != sys.ProcessGroup && scope != sys.ScopeTree {
		t.Errorf("supervisor_death is %s", scope)
	}
	cmd.Process.Kill()
	go io.Copy(io.Discard, out)
	for deadline := time.Now().Add(hang); leaderLives(token); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("the leader outlived its supervisor")
			break
		}
	}
	endOf(t, token, scope)
}

// leaderLives looks for the leader of a hostile tree, which no rung lets live.
func leaderLives(token string) bool {
	return slices.ContainsFunc(systest.Survivors(token), func(p systest.Found) bool {
		return strings.Contains(p.Command, " tree stay ")
	})
}

func parentOfTests() string {
	if p := os.Getenv(parentVariable); p != "" {
		return p
	}
	return systest.Parent()
}

// TestMatrixUnprivileged runs the matrix as a user without rights, once in a
// control group that was given to it and once without one.
func TestMatrixUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot become another user")
	}
	const nobody = 65534
	credential := &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{}}
	t.Run("without a control group", func(t *testing.T) {
		out := asUser(t, &syscall.SysProcAttr{Credential: credential}, "")
		for _, want := range []string{"SKIP: TestMatrix/cgroup_v2", "PASS: TestMatrix/subreaper/supervisor_death", "TestMatrix/pid_namespace", "PASS: TestMatrix/process_group"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in the output:\n%s", want, out)
			}
		}
	})
	t.Run("with one", func(t *testing.T) {
		parent := systest.Parent()
		if parent == "" {
			t.Skip("no control group can be made here")
		}
		given := filepath.Join(parent, "given")
		self := filepath.Join(given, "self")
		if err := os.MkdirAll(self, 0o755); err != nil {
			t.Fatal(err)
		}
		defer removeGroups(t, given)
		for _, name := range []string{given, given + "/cgroup.procs", given + "/cgroup.subtree_control", self, self + "/cgroup.procs"} {
			if err := os.Chown(name, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		dir, err := os.Open(self)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		out := asUser(t, &syscall.SysProcAttr{Credential: credential, UseCgroupFD: true, CgroupFD: int(dir.Fd())}, given)
		for _, want := range []string{"PASS: TestMatrix/cgroup_v2/supervisor_death", "PASS: TestMatrix/subreaper/supervisor_death", "TestMatrix/pid_namespace", "PASS: TestMatrix/process_group"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in the output:\n%s", want, out)
			}
		}
	})
}

// removeGroups removes a control group with those below it, once the last
// guardian in there has done its work.
func removeGroups(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		var dirs []string
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil // what goes meanwhile is not missed
		})
		var err error
		for _, d := range slices.Backward(dirs) {
			err = os.Remove(d)
		}
		if err == nil || os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%v", err)
			return
		}
	}
}

// asUser runs TestMatrix in a copy of this process with other rights.
func asUser(t *testing.T, attr *syscall.SysProcAttr, parent string) string {
	t.Helper()
	cmd := &exec.Cmd{
		Path:        "/proc/self/exe",
		Args:        []string{"sys.test", "-test.run=^TestMatrix$", "-test.v", "-test.count=1"},
		Env:         append(os.Environ(), parentVariable+"="+parent, "HOME=/", "TMPDIR=/tmp"),
		Dir:         "/",
		SysProcAttr: attr,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}
