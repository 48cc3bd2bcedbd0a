package sys_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// sweepingIn is a host that sweeps a control group and keeps no record.
func sweepingIn(t *testing.T, group string) sys.Host {
	t.Helper()
	h, err := sys.NewHost(sys.HostOptions{Parent: group, Mechanism: sys.CgroupV2})
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

func sweepIn(t *testing.T, h sys.Host) {
	t.Helper()
	if got, err := h.Sweep(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%+v %v", got, err)
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestSweepWithoutRecord: the empty directory of a killed host is removed though
// its record went with the directory of records, and so is one that never had
// one; what lives, what is populated and what has another name stays.
func TestSweepWithoutRecord(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group, records := groupFor(t), filepath.Join(t.TempDir(), "records")
	path, argv, env := systest.Command("dies-at-step", "3", records, group)
	if out, err := (&exec.Cmd{Path: path, Args: argv, Env: env}).Output(); len(out) > 0 || err == nil {
		t.Fatalf("%q %v", out, err)
	}
	if err := os.RemoveAll(records); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(group + "/belfry-*")
	if err != nil || len(left) != 1 {
		t.Fatalf("%v %v", left, err)
	}
	other := group + "/belfry-mine"
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	live := sweepingIn(t, group)
	of := sys.ContainersOf(live)
	sweepIn(t, sweepingIn(t, group))
	if there(left[0]) {
		t.Errorf("%s is left", left[0])
	}
	if !there(of) || !there(other) {
		t.Error("the sweep took the directory of a live host, or a stranger's")
	}
	if err := os.Remove(other); err != nil {
		t.Error(err)
	}

	populated := group + "/belfry-0123456789abcdef"
	if err := os.Mkdir(populated, 0o755); err != nil {
		t.Fatal(err)
	}
	r := start(t, newHost(t, sys.ProcessGroup), nil, "ignore-term")
	r.line(t)
	if err := os.WriteFile(populated+"/cgroup.procs", []byte(strconv.Itoa(r.Leader().PID)), 0); err != nil {
		t.Fatal(err)
	}
	sweepIn(t, live)
	if !there(populated) || r.Exit() != (sys.Exit{}) {
		t.Error("the sweep touched a populated directory")
	}
	if _, err := r.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "it is removed once it is empty", func() bool { sweepIn(t, live); return !there(populated) })
}

// TestSweepBesideStarts: hosts that are just starting keep their directories,
// however many sweeps go on.
func TestSweepBesideStarts(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group := groupFor(t)
	sweeper := sweepingIn(t, group)
	stop := make(chan struct{})
	var sweeps sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := sweeper.Sweep(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for range rounds(t, 500) {
		h, err := sys.NewHost(sys.HostOptions{Parent: group, Mechanism: sys.CgroupV2})
		if err != nil {
			t.Fatal(err)
		}
		if dir := sys.ContainersOf(h); dir == "" || !there(dir) {
			t.Errorf("the directory %q is not there", dir)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	sweeps.Wait()
}
