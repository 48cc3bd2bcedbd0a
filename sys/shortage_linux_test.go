package sys_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/linux"
	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// fewFiles lowers the limit of descriptors for the test and gives a function
// that leaves only n of them free until free is called.
func fewFiles(t *testing.T) (leave func(n int) (free func())) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	low := was
	low.Cur = min(was.Cur, 256)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
	return func(n int) func() {
		var taken []int
		for {
			fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
			if err != nil {
				break
			}
			taken = append(taken, fd)
		}
		for range min(n, len(taken)) {
			syscall.Close(taken[len(taken)-1])
			taken = taken[:len(taken)-1]
		}
		return func() {
			for _, fd := range taken {
				syscall.Close(fd)
			}
		}
	}
}

// TestShortageNeverWeakens: with too few descriptors a job starts on the rung
// that works here or not at all, whether the rung was tried before or not.
func TestShortageNeverWeakens(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "missing")
	for m, parent := range map[sys.Mechanism]string{sys.CgroupV2: parentOfTests(), sys.Subreaper: nowhere} {
		t.Run(string(m), func(t *testing.T) {
			needs(t, newHost(t, m), m)
			shortageOn(t, m, func() sys.Host {
				return systest.Host(t, sys.HostOptions{Parent: parent})
			})
		})
	}
}

func shortageOn(t *testing.T, m sys.Mechanism, newHost func() sys.Host) {
	proved := newHost()
	null, err := nullFile(t)
	if err != nil {
		t.Fatal(err)
	}
	sp := specOf(t, null, nil, "exit", "0")
	if err := runsOn(t, m, proved, sp); err != nil {
		t.Fatal(err)
	}
	leave := fewFiles(t)
	refused := 0
	for n := range 14 {
		for name, h := range map[string]sys.Host{"proved": proved, "fresh": newHost()} {
			free := leave(n)
			err := runsOn(t, m, h, sp)
			free()
			if se, ok := errors.AsType[*sys.StartError](err); ok && se.Code == sys.CodeResourcesExhausted && se.Detail != "" {
				refused++
			} else if err != nil {
				t.Errorf("%s host, %d descriptors: %v", name, n, err)
			}
			if err := runsOn(t, m, h, sp); err != nil {
				t.Errorf("%s host, after the shortage of %d: %v", name, n, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no shortage was met")
	}
}

// runsOn starts a program that ends by itself, wants the rung, and sees it end.
func runsOn(t *testing.T, m sys.Mechanism, h sys.Host, sp sys.Spec) error {
	t.Helper()
	tree, err := h.Start(t.Context(), sp)
	if err != nil {
		return err
	}
	if got := tree.Guarantee().Mechanism; got != m {
		t.Errorf("started on %s", got)
	}
	wait(t, "empty", tree.Empty())
	return tree.Release()
}

// TestHomeAfterShortage: a host that had no descriptor to find its control group
// finds it later.
func TestHomeAfterShortage(t *testing.T) {
	want, err := linux.OwnCgroup()
	if err != nil {
		t.Skip(err)
	}
	h := systest.Host(t, sys.HostOptions{})
	free := fewFiles(t)(0)
	dir, err := sys.HomeOf(h)
	free()
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("without a descriptor it is %q, %v", dir, err)
	}
	if dir, err := sys.HomeOf(h); dir != want || err != nil {
		t.Errorf("later it is %q, %v: want %q", dir, err, want)
	}
}

// TestNoMoreContainers: where for the moment no control group can be made,
// though process groups would do, a job is refused.
func TestNoMoreContainers(t *testing.T) {
	h := newHost(t, "")
	needs(t, h, sys.CgroupV2)
	null, err := nullFile(t)
	if err != nil {
		t.Fatal(err)
	}
	sp := specOf(t, null, nil, "exit", "0")
	limit := sys.ContainersOf(h) + "/cgroup.max.descendants"
	if err := os.WriteFile(limit, []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	_, err = h.Start(t.Context(), sp)
	if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != sys.CodeResourcesExhausted {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(limit, []byte("max"), 0); err != nil {
		t.Fatal(err)
	}
	if err := runsOn(t, sys.CgroupV2, h, sp); err != nil {
		t.Error(err)
	}
}

// TestFrozenHostDirectory: a job that froze the host's own directory holds up
// no other.
func TestFrozenHostDirectory(t *testing.T) {
	h := newHost(t, "")
	needs(t, h, sys.CgroupV2)
	first := start(t, h, nil, "sleep")
	if err := os.WriteFile(sys.ContainersOf(h)+"/cgroup.freeze", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	r := start(t, h, nil, "exit", "7")
	if m := r.Guarantee().Mechanism; m != sys.CgroupV2 {
		t.Errorf("started on %s", m)
	}
	wait(t, "empty", r.Empty())
	if e := r.Exit(); e.Code != 7 {
		t.Errorf("%+v", e)
	}
	if rep, err := first.Kill(t.Context()); err != nil || rep.Proof != sys.ProofCgroupEmpty {
		t.Errorf("%+v %v", rep, err)
	}
}

// TestFrozenFromAbove: nothing is born in a frozen control group, where it
// would never reach its exec, and nothing on a weaker rung because of it.
func TestFrozenFromAbove(t *testing.T) {
	needs(t, newHost(t, sys.CgroupV2), sys.CgroupV2)
	above := filepath.Join(parentOfTests(), "belfry-test-frozen-"+rand.Text())
	if err := os.Mkdir(above, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(above); err != nil {
			t.Error(err)
		}
	})
	h := systest.Host(t, sys.HostOptions{Parent: above})
	null, err := nullFile(t)
	if err != nil {
		t.Fatal(err)
	}
	freeze := func(word string) {
		t.Helper()
		if err := os.WriteFile(above+"/cgroup.freeze", []byte(word), 0); err != nil {
			t.Fatal(err)
		}
	}
	sp := specOf(t, null, nil, "exit", "0")
	freeze("1")
	_, err = h.Start(t.Context(), sp)
	if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != sys.CodeContainmentUnavailable {
		t.Errorf("%v", err)
	}
	freeze("0")
	if err := runsOn(t, sys.CgroupV2, h, sp); err != nil {
		t.Error(err)
	}
}
