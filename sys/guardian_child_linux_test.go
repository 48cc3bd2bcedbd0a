package sys_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("hasty-supervisor", hastySupervisor) }

func newHastyHost(t *testing.T) sys.Host {
	t.Helper()
	o := systest.Options()
	o.Hasty, o.Mechanism = true, sys.CgroupV2
	h, err := sys.NewHost(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close host: %v", err)
		}
	})
	return h
}

func childGuardianOf(dir string) int { return helperOf(dir, sys.IsChildGuardianOf) }

// TestGuardianOfHaste: the guardian of a hasty host is its child at first, and
// soon one that is not takes its place, while the guarantee stays.
func TestGuardianOfHaste(t *testing.T) {
	h := newHastyHost(t)
	needs(t, newHost(t, sys.CgroupV2), sys.CgroupV2)
	r := start(t, h, nil, "sleep")
	until(t, "a guardian that watches", func() bool { return r.Guarantee().SupervisorDeath == sys.ScopeTree })
	dir := sys.ContainersOf(h)
	until(t, "a guardian that is no child", func() bool { return guardianOf(dir) != 0 })
	until(t, "the end of the child", func() bool { return childGuardianOf(dir) == 0 })
	until(t, "a guardian that does not descend from the supervisor", func() bool {
		return !slices.Contains(descendants(t, os.Getpid()), guardianOf(dir))
	})
	if g := r.Guarantee(); g.SupervisorDeath != sys.ScopeTree {
		t.Errorf("supervisor_death is %s", g.SupervisorDeath)
	}
	if r.Stopped() || len(r.Exited()) != 0 {
		t.Error("the job noticed")
	}
}

// TestGuardianChildKilled: one that is killed while it is a child is followed by
// another, and leaves no zombie.
func TestGuardianChildKilled(t *testing.T) {
	h := newHastyHost(t)
	needs(t, newHost(t, sys.CgroupV2), sys.CgroupV2)
	r := start(t, h, nil, "sleep")
	dir, first := sys.ContainersOf(h), 0
	until(t, "a guardian", func() bool { first = childGuardianOf(dir); return first != 0 })
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		t.Fatal(err)
	}
	until(t, "the end of the first", func() bool { return !slices.Contains(descendants(t, os.Getpid()), first) })
	until(t, "another guardian", func() bool {
		return guardianOf(dir) != 0 && r.Guarantee().SupervisorDeath == sys.ScopeTree
	})
}

// hastySupervisor kills itself as soon as its tree has a second process:
// PARENT TOKEN.
func hastySupervisor(args []string) int {
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.CgroupV2, Parent: args[0], Hasty: true})
	if err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		return 1
	}
	h.Prepare()
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		return 1
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		return 1
	}
	if _, err := h.Start(ctxForever, sys.Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", "sleep 300 & echo up; wait"},
		Env: append(os.Environ(), args[1]), Dir: "/", Stdio: [3]*os.File{null, w, null}}); err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		return 1
	}
	if _, err := r.Read(make([]byte, 3)); err != nil {
		fmt.Fprintln(os.Stdout, "error", err)
		return 1
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // cannot fail
	select {}
}

// TestHastyHostKilled while its guardian still rests: it wakes, and ends the tree.
func TestHastyHostKilled(t *testing.T) {
	needs(t, newHost(t, sys.CgroupV2), sys.CgroupV2)
	for range rounds(t, 200) {
		token := newToken(t)
		path, argv, env := systest.Command("hasty-supervisor", parentOfTests(), token)
		cmd := &exec.Cmd{Path: path, Args: argv, Env: env}
		out, _ := cmd.Output() // it is killed
		if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%v: %s", cmd.ProcessState, out)
		}
		gone(t, token)
	}
}

// TestHastyHostCloses before its guardian has come to anything, and leaves nothing.
func TestHastyHostCloses(t *testing.T) {
	needs(t, newHost(t, sys.CgroupV2), sys.CgroupV2)
	for range rounds(t, 50) {
		h := newHastyHost(t)
		h.Prepare()
		r := start(t, h, nil, "exit", "0")
		<-r.Empty()
		dir := sys.ContainersOf(h)
		if err := r.Release(); err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the directory is still there: %v", err)
		}
		until(t, "the guardian's end", func() bool { return childGuardianOf(dir) == 0 && guardianOf(dir) == 0 })
	}
}
