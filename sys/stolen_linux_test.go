package sys_test

import (
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// steal takes a copy of another process's descriptor, as any process of the user
// may that may trace it, and keeps it to the test's end.
func steal(t *testing.T, pid, fd int) {
	t.Helper()
	const pidfdOpen, pidfdGetfd = 434, 438 // the same on every machine
	p, _, no := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if no != 0 {
		t.Fatalf("pidfd of %d: %v", pid, no)
	}
	defer syscall.Close(int(p))
	copied, _, no := syscall.Syscall(pidfdGetfd, p, uintptr(fd), 0)
	if no != 0 {
		t.Skipf("no descriptor of another process can be had here: %v", no)
	}
	t.Cleanup(func() { syscall.Close(int(copied)) })
}

func kill9(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestStolenPipe: who holds the pipe or the socket that would tell a helper's end
// hides that from nobody.
func TestStolenPipe(t *testing.T) {
	t.Run("guardian", func(t *testing.T) {
		h := newHost(t, sys.CgroupV2)
		needs(t, h, sys.CgroupV2)
		r := start(t, h, nil, "sleep")
		first := guardianOf(sys.ContainersOf(h))
		steal(t, first, 4)
		kill9(t, first)
		until(t, "the guarantee falls", func() bool { return r.Guarantee().SupervisorDeath != sys.ScopeTree })
		until(t, "another guardian watches", func() bool { return r.Guarantee().SupervisorDeath == sys.ScopeTree })
		if second := guardianOf(sys.ContainersOf(h)); second == 0 || second == first {
			t.Errorf("guardian %d after %d", second, first)
		}
	})
	for name, c := range map[string]struct {
		rung  sys.Mechanism
		proof sys.Proof
	}{
		"shim": {sys.Subreaper, sys.ProofNoChildren},
		"init": {sys.PIDNamespace, sys.ProofNamespaceGone},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, c.rung)
			needs(t, h, c.rung)
			r := start(t, h, nil, "sleep")
			parent := parentOf(t, r.Leader().PID)
			steal(t, parent, 3)
			kill9(t, parent)
			wait(t, "empty", r.Empty())
			if p := r.Proof(); p != c.proof {
				t.Errorf("proof %q", p)
			}
		})
	}
	t.Run("shim and keeper", func(t *testing.T) {
		h := newHost(t, sys.Subreaper)
		needs(t, h, sys.Subreaper)
		r := start(t, h, nil, "sleep")
		shim := parentOf(t, r.Leader().PID)
		keeper := parentOf(t, shim)
		steal(t, keeper, 3)
		steal(t, shim, 3)
		kill9(t, keeper)
		kill9(t, shim)
		wait(t, "empty", r.Empty())
		if p := r.Proof(); p != sys.ProofGroupScan {
			t.Errorf("proof %q", p)
		}
	})
}
