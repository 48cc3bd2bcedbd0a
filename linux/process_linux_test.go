package linux

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spawn starts a program for a test, which reaps it.
func spawn(t *testing.T, argv ...string) (pid, fd int) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c, err := Spawn(SpawnAttr{Path: argv[0], Argv: argv, Dir: "/", CgroupFD: -1,
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}})
	if err != nil {
		t.Fatal(err)
	}
	pid, fd = c.PID, c.Pidfd
	t.Cleanup(func() {
		_ = PidfdSignal(fd, syscall.SIGKILL)
		_, _ = ReapPID(pid) // ECHILD where the test reaped
		CloseFD(fd)
	})
	return pid, fd
}

func awaitExit(t *testing.T, fd int) Exit {
	t.Helper()
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPollable(dup, "pidfd")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var e Exit
	if err := p.Wait(func(fd int) bool {
		var ok bool
		e, ok, err = WaitPeek(fd)
		return ok || err != nil
	}); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWaitPeek(t *testing.T) {
	for _, c := range []struct {
		script string
		want   Exit
	}{
		{"exit 0", Exit{}},
		{"exit 7", Exit{Code: 7}},
		{"kill -TERM $$", Exit{Signal: syscall.SIGTERM}},
	} {
		pid, fd := spawn(t, "/bin/sh", "-c", c.script)
		for range 2 { // looking changes nothing
			e := awaitExit(t, fd)
			if e.Usage.MaxRSS <= 0 {
				t.Errorf("%s: usage %+v", c.script, e.Usage)
			}
			e.Usage = Rusage{}
			if e != c.want {
				t.Errorf("%s: %+v", c.script, e)
			}
		}
		st, err := ReadStat("/proc", pid)
		if err != nil || !st.Dead() || st.Pgrp != pid || st.Session != pid {
			t.Errorf("held leader: %+v %v", st, err)
		}
		if !PidfdExited(fd) {
			t.Error("its pidfd does not show the end")
		}
		if _, ok, err := Reap(fd); !ok || err != nil {
			t.Errorf("reap: %v %v", ok, err)
		}
		if _, _, err := Reap(fd); err != syscall.ECHILD {
			t.Errorf("second reap: %v", err)
		}
	}
	_, fd := spawn(t, "/bin/sleep", "60")
	if _, ok, err := WaitPeek(fd); ok || err != nil {
		t.Errorf("running: %v %v", ok, err)
	}
	if PidfdExited(fd) {
		t.Error("running: shown as ended")
	}
}

// TestZombiePins: the number of a held leader goes to nobody, and that of a
// reaped one may.
func TestZombiePins(t *testing.T) {
	pid, fd := spawn(t, "/bin/true")
	awaitExit(t, fd)
	err := forcePID(pid)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		t.Skipf("cannot choose process numbers here: %v", err)
	}
	if err != unix.EEXIST {
		t.Errorf("while held: %v", err)
	}
	if _, _, err := Reap(fd); err != nil {
		t.Fatal(err)
	}
	// Somebody else may take the number in between; then it is in use again.
	if err := forcePID(pid); err != nil && err != unix.EEXIST {
		t.Errorf("after the reap: %v", err)
	}
}

// forcePID starts and reaps a child with a given number (clone3 set_tid, 5.5).
func forcePID(pid int) error {
	tid := int32(pid)
	args := struct {
		flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
	}{exitSignal: uint64(unix.SIGCHLD), setTID: uint64(uintptr(unsafe.Pointer(&tid))), setTIDSize: 1}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, _, no := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	if no != 0 {
		return no
	}
	if r == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	_, err := ReapPID(int(r))
	return err
}

func TestIdentity(t *testing.T) {
	pid, fd := spawn(t, "/bin/sleep", "60")
	st, err := ReadStat("/proc", pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := SignalProcess(pid, st.Start+1, syscall.SIGKILL); err != syscall.ESRCH {
		t.Errorf("another process of that number: %v", err)
	}
	if PidfdExited(fd) {
		t.Fatal("the wrong start time killed it")
	}
	if err := SignalProcess(pid, st.Start, syscall.SIGKILL); err != nil {
		t.Errorf("%v", err)
	}
	if e := awaitExit(t, fd); e.Signal != syscall.SIGKILL {
		t.Errorf("%+v", e)
	}
	if id := BootID(); len(id) != 36 {
		t.Errorf("boot id %q", id)
	}
}

func TestExecName(t *testing.T) {
	pid, _ := spawn(t, "/bin/sleep", "60")
	if name, err := ExecName(pid); err != nil || name != "/bin/sleep" {
		t.Errorf("%q %v", name, err)
	}
	if name, err := ExecName(1 << 30); err == nil {
		t.Errorf("nobody's is %q", name)
	}
}

func TestGroupByPidfd(t *testing.T) {
	if !HasPidfdGroups() {
		t.Skip("this kernel is older than 6.9")
	}
	_, fd := spawn(t, "/bin/sh", "-c", "sleep 60 & exit 0")
	awaitExit(t, fd)
	if _, ok, err := Reap(fd); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := PidfdSignalGroup(fd, 0); err != nil {
		t.Errorf("a group with a member: %v", err)
	}
	if err := PidfdSignalGroup(fd, syscall.SIGKILL); err != nil {
		t.Errorf("kill: %v", err)
	}
	for deadline := time.Now().Add(30 * time.Second); PidfdSignalGroup(fd, 0) != syscall.ESRCH; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the group does not empty")
		}
	}
}

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

func TestSealAndSlow(t *testing.T) {
	fd, err := unix.Open("/", unix.O_RDONLY, 0) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := SealFrom(3); err != nil {
		t.Fatal(err)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %d %v", flags, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	if err := eachFD(3, unix.CloseOnExec); err != nil {
		t.Fatal(err)
	}
	if flags, _ = unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); flags&unix.FD_CLOEXEC == 0 {
		t.Error("the walk left it open")
	}
	proc, err := OpenPath("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(proc)
	if SlowFS(proc) {
		t.Error("/proc counts as slow")
	}
	if !SlowFS(-1) {
		t.Error("what tells nothing counts as fast")
	}
}

func TestEachStat(t *testing.T) {
	self := false
	if err := EachStat("/proc", func(st Stat) { self = self || st.PID == os.Getpid() }); err != nil || !self {
		t.Errorf("own process found: %v %v", self, err)
	}
	if err := EachStat("/nonexistent", nil); err == nil {
		t.Error("no error")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"7": statLine("ok"), "8": "garbage", "x": statLine("no")} {
		if err := os.Mkdir(dir+"/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+name+"/stat", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	if err := EachStat(dir, func(st Stat) { got = append(got, st.Comm) }); err != nil || len(got) != 1 || got[0] != "ok" {
		t.Errorf("%v %v", got, err)
	}
}

// TestSpawnKnowsTheStart: the start that needs no reading is the one that is read,
// and as a rule it is known.
func TestSpawnKnowsTheStart(t *testing.T) {
	const rounds = 50
	known := 0
	for range rounds {
		c, err := Spawn(SpawnAttr{Path: "/bin/true", Argv: []string{"true"}, Dir: "/", CgroupFD: -1})
		if err != nil {
			t.Fatal(err)
		}
		st, err := ReadStat("/proc", c.PID) // the zombie at the latest
		if err != nil {
			t.Fatal(err)
		}
		if c.Start != 0 {
			known++
			if c.Start != st.Start {
				t.Errorf("start %d, read as %d", c.Start, st.Start)
			}
		}
		if _, err := ReapPID(c.PID); err != nil {
			t.Error(err)
		}
		CloseFD(c.Pidfd)
	}
	t.Logf("known in %d of %d", known, rounds)
}

// TestUsageCountsStorage: what waiting for a child tells of its storage is what
// /proc tells.
func TestUsageCountsStorage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	pid, fd := spawn(t, "/bin/sh", "-c", "dd if=/dev/zero of="+file+" bs=4096 count=64 conv=fsync 2>/dev/null; cat "+file+" >/dev/null")
	e := awaitExit(t, fd)
	r, w, err := ReadIO(pid)
	if err != nil {
		if e.Usage.Read != -1 || e.Usage.Written != -1 {
			t.Errorf("%+v, though nothing is counted here", e.Usage)
		}
		t.Skip(err)
	}
	if e.Usage.Read/sector != r/sector || e.Usage.Written/sector != w/sector {
		t.Errorf("%+v, read as %d and %d", e.Usage, r, w)
	}
}
