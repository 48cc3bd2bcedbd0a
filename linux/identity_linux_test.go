package linux

import (
	"errors"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
