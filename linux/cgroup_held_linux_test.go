package linux

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHeldCgroup follows a process from its birth in a group to its end as a
// zombie there.
func TestHeldCgroup(t *testing.T) {
	own, err := OwnCgroup()
	if err != nil {
		t.Skip(err)
	}
	top, err := MakeCgroup(own, "linux-held-"+strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Skip(err)
	}
	defer top.Remove()
	host, err := top.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	leaf, err := host.Make("leaf")
	if err != nil {
		t.Fatal(err)
	}
	defer leaf.Close()
	if leaf.Path() != top.Path()+"/leaf" {
		t.Errorf("path %q", leaf.Path())
	}
	if err := errors.Join(leaf.Watch(), leaf.Count()); err != nil {
		t.Fatal(err)
	}
	if !leaf.Reusable() {
		t.Error("a new group is not reusable")
	}
	if _, err := host.Make("leaf"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}

	c, err := Spawn(SpawnAttr{Path: "/bin/sh", Argv: []string{"sh", "-c", "while :; do sleep 60; done"},
		Files: []uintptr{0, 1, 2}, CgroupFD: leaf.Dir()})
	if err != nil {
		t.Skip("no process can be born in a group here:", err)
	}
	pid, fd := c.PID, c.Pidfd
	defer unix.Close(fd)
	if populated, frozen, err := leaf.State(); !populated || frozen || err != nil {
		t.Errorf("with a process: %v %v %v", populated, frozen, err)
	}
	there := func(when string) {
		t.Helper()
		if in, known := leaf.Has(fd, pid); !in || !known {
			t.Errorf("%s: in %v, known %v", when, in, known)
		}
		if in, known := leaf.Cgroup.Has(pid); !in || !known {
			t.Errorf("%s, by its path: in %v, known %v", when, in, known)
		}
		if in, known := host.Has(fd, pid); !in || !known {
			t.Errorf("%s, from above: in %v, known %v", when, in, known)
		}
	}
	there("alive")
	if err := leaf.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitExit(t, fd)
	there("as a zombie")
	if id, ok := PidfdCgroup(fd); ok && id != leaf.id {
		t.Errorf("the kernel says %d, the directory %d", id, leaf.id)
	}
	if e, _, err := Reap(fd); err != nil || e.Signal != syscall.SIGKILL {
		t.Errorf("%+v %v", e, err)
	}
	if _, ok := PidfdCgroup(fd); ok {
		if in, known := leaf.Has(fd, pid); known && !in {
			t.Error("the reaped one is elsewhere")
		}
	}
	if a, ok := leaf.CPU(); !ok {
		t.Error("no processor time")
	} else if b, ok := leaf.Cgroup.CPU(); !ok || b < a {
		t.Errorf("%v by the open file, then %v", a, b)
	}
	for populated := true; populated; { // the shell's child may end after it
		if populated, _, err = leaf.State(); err != nil {
			t.Fatal(err)
		}
		if populated {
			WaitEvent(leaf.events, 100)
		}
	}
	if err := os.Mkdir(leaf.Path()+"/below", 0o755); err != nil {
		t.Fatal(err)
	}
	if leaf.Reusable() {
		t.Error("reusable with a group below it")
	}
	if err := leaf.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := leaf.State(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("state of a removed group: %v", err)
	}
}

// TestLookCached: what was just looked at is told as stat tells it, and what is
// not there is not told.
func TestLookCached(t *testing.T) {
	const path = "/bin/sh"
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	now, ok := LookCached(path)
	if !ok {
		t.Skip("this kernel does not look without waiting (5.12), or not here")
	}
	want := FileNow{Dev: uint64(st.Dev), Inode: st.Ino, Size: st.Size, Change: st.Ctim.Nano(), Mode: st.Mode, UID: st.Uid, GID: st.Gid}
	if now != want {
		t.Errorf("%+v, want %+v", now, want)
	}
	if _, ok := LookCached(path + "/nothing"); ok {
		t.Error("nothing is there")
	}
}
