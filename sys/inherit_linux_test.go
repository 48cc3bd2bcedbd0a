package sys_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("tainted-supervisor", taintedSupervisor) }

// taintedSupervisor shows what a job gets: MECHANISM PARENT WAY.
func taintedSupervisor(args []string) int {
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.Mechanism(args[0]), Parent: args[1]})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	defer h.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 1
	}
	path, argv, env := systest.Command("fdlist")
	begin := h.Start
	if args[2] == "trampoline" {
		begin = func(_ context.Context, sp sys.Spec) (sys.Tree, error) { return sys.StartSlow(h, sp) }
	}
	for _, sp := range []sys.Spec{
		{Path: "/bin/cat", Argv: []string{"cat", "/proc/self/status"}},
		{Path: path, Argv: argv},
	} {
		sp.Env, sp.Dir, sp.Stdio = env, "/", [3]*os.File{null, os.Stdout, os.Stderr}
		tree, err := begin(ctxForever, sp)
		if err != nil {
			fmt.Fprintln(os.Stdout, err)
			return 1
		}
		<-tree.Empty()
		tree.Release()
	}
	return 0
}

// TestNothingInherited starts a supervisor with signals blocked and ignored and
// a foreign descriptor 7: none of it reaches a job.
func TestNothingInherited(t *testing.T) {
	h := newHost(t, "")
	for _, m := range everyRung {
		for _, way := range []string{"direct", "trampoline"} {
			t.Run(string(m)+"/"+way, func(t *testing.T) {
				needs(t, h, m)
				out := tainted(t, string(m), parentOfTests(), way)
				for _, want := range []string{"SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n", "\n[0 1 2]\n"} {
					if !strings.Contains(out, want) {
						t.Errorf("no %q in:\n%s", want, out)
					}
				}
			})
		}
	}
}

// tainted runs the supervisor as a careless parent would.
func tainted(t *testing.T, args ...string) string {
	t.Helper()
	path, argv, env := systest.Command("tainted-supervisor", args...)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stderr: os.Stderr, ExtraFiles: []*os.File{null, null, null, null, null}}
	var out strings.Builder
	cmd.Stdout = &out
	signal.Ignore(syscall.SIGHUP, syscall.SIGTSTP, syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGHUP, syscall.SIGTSTP, syscall.SIGPIPE)
	// The C library's own and the first and last of those for programs: Go can
	// ignore none of them.
	for _, n := range []uintptr{32, 34, 35, 64} {
		ignore := [4]uint64{1}
		var before [4]uint64
		sigaction(t, n, &ignore, &before)
		defer sigaction(t, n, &before, nil)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	blocked := uint64(1<<(syscall.SIGTERM-1) | 1<<(syscall.SIGUSR1-1))
	var before uint64
	sigmask(t, &blocked, &before)
	err = cmd.Start()
	sigmask(t, &before, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

func sigmask(t *testing.T, set, old *uint64) {
	t.Helper()
	const setmask = 2
	if _, _, no := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setmask,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0); no != 0 {
		t.Fatal(no)
	}
}

// sigaction sets a signal's action, whose first word is the handler.
func sigaction(t *testing.T, n uintptr, set, old *[4]uint64) {
	t.Helper()
	if _, _, no := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, n,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0); no != 0 {
		t.Fatal(no)
	}
}
