package sys_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("covered", covered)
	systest.Register("cover", cover)
}

// coveredPlaces are what a job of root may mount something over.
var coveredPlaces = []string{"/proc", "/sys/fs/cgroup"}

// covered kills a tree that has mounted something over a place that its host
// reads, and starts another: PLACE MECHANISM PARENT TOKEN. It is told of by one
// line, "ok" if all went well.
func covered(args []string) int {
	tell := func(what ...any) int { fmt.Println(what...); return 0 }
	// The mount stays in this process's own namespace.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return tell("private mounts:", err)
	}
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.Mechanism(args[1]), Parent: args[2]})
	if err != nil {
		return tell(err)
	}
	own, err := os.Executable() // /proc will be covered
	if err != nil {
		return tell(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return tell(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return tell(err)
	}
	_, argv, env := systest.Command("cover", args[0], own)
	for range 2 {
		tree, err := h.Start(ctxForever, sys.Spec{Path: own, Argv: argv, Env: append(env, args[3]), Dir: "/", Stdio: [3]*os.File{null, w, null}})
		if err != nil {
			return tell("start:", err)
		}
		b := make([]byte, 256)
		n, err := r.Read(b)
		if err != nil || string(b[:n]) != "covered\n" {
			return tell("the job:", string(b[:n]), err)
		}
		if list, how := tree.Members(); how == sys.BestEffort || len(list) < 2 {
			return tell("members:", list, how)
		}
		if rep, err := tree.Kill(ctxForever); err != nil || rep.Proof != proofs[sys.Mechanism(args[1])] {
			return tell("kill:", rep, err)
		}
		if err := tree.Release(); err != nil {
			return tell("release:", err)
		}
	}
	if err := h.Close(); err != nil {
		return tell("close:", err)
	}
	return tell("ok")
}

// cover mounts a file system over PLACE, starts the program OWN in a session of its
// own, and stays: PLACE OWN.
func cover(args []string) int {
	if err := syscall.Mount("none", args[0], "tmpfs", 0, ""); err != nil {
		fmt.Println(err)
		return 1
	}
	cmd := exec.Cmd{Path: args[1], Args: []string{args[1], os.Args[1], "sleep", "50"}, Env: os.Environ(), SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("covered")
	_ = cmd.Wait() // killed
	return 0
}

// TestCovered: a job of root that mounts something over what its host reads is
// ended like any other, with the same proof.
func TestCovered(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: nothing can be mounted")
	}
	systest.Spare("cover")
	for _, place := range coveredPlaces {
		for _, m := range []sys.Mechanism{sys.CgroupV2, sys.Subreaper, sys.ProcessGroup} {
			t.Run(place[1:]+" "+string(m), func(t *testing.T) {
				needs(t, newHost(t, m), m)
				token := newToken(t)
				path, argv, env := systest.Command("covered", place, string(m), parentOfTests(), token)
				cmd := exec.Cmd{Path: path, Args: argv, Env: env, Stderr: os.Stderr,
					SysProcAttr: &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}}
				out, err := cmd.Output()
				if strings.HasPrefix(string(out), "private mounts") {
					t.Skip(string(out))
				}
				if err != nil || string(out) != "ok\n" {
					t.Errorf("%q %v", out, err)
				}
				gone(t, token)
			})
		}
	}
}
