package linux

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// TestCgroupSweep ends a group in the way of kernels without cgroup.kill.
func TestCgroupSweep(t *testing.T) {
	own, err := OwnCgroup()
	if err != nil {
		t.Skip(err)
	}
	c, err := MakeCgroup(own, "linux-test-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Skip(err)
	}
	defer c.Remove()
	inner, err := MakeCgroup(c.Path(), "inner")
	if err != nil {
		t.Fatal(err)
	}
	var fds []int
	for _, g := range []*Cgroup{c, inner, inner} {
		pid, fd := spawn(t, "/bin/sh", "-c", "trap '' TERM; while :; do sleep 60; done")
		if err := os.WriteFile(filepath.Join(g.Path(), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			t.Fatal(err)
		}
		in, known := c.Has(pid)
		inside, _ := inner.Has(pid)
		if !in || !known || g == c && inside {
			t.Errorf("membership of %d", pid)
		}
		fds = append(fds, fd)
	}
	events, err := c.Events()
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	for rounds := 0; ; rounds++ {
		populated := false
		events.Use(func(fd int) { populated, err = Populated(fd) })
		if err != nil {
			t.Fatal(err)
		}
		if !populated {
			break
		}
		if rounds > 10000 {
			t.Fatalf("still there: %v", c.Procs())
		}
		if err := c.sweep(); err != nil {
			t.Fatal(err)
		}
	}
	for _, fd := range fds {
		if e := awaitExit(t, fd); e.Signal != syscall.SIGKILL {
			t.Errorf("%+v", e)
		}
	}
	held, err := c.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := held.Watch(); err != nil {
		t.Fatal(err)
	}
	if populated, frozen, err := held.State(); populated || frozen || err != nil {
		t.Error("left populated, frozen:", populated, frozen, err)
	}
	if cpu, ok := c.CPU(); !ok || cpu <= 0 {
		t.Errorf("cpu %v %v", cpu, ok)
	}
	if err := c.Remove(); err != nil {
		t.Error(err)
	}
	if err := c.Remove(); err != nil {
		t.Error("a second time:", err)
	}
}
