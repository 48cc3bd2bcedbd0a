package linux

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

func TestPidfdPIDOfReaped(t *testing.T) {
	c := sleeper(t, "/bin/true")
	fd, err := PidfdOpen(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFD(fd)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if pid, err := PidfdPID(fd); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("%d %v", pid, err)
	}
}

func TestPidfdExit(t *testing.T) {
	c := sleeper(t, "/bin/sh", "-c", "exit 7")
	fd, err := PidfdOpen(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFD(fd)
	_ = c.Wait() // status 7
	e, ok := PidfdExit(fd)
	if !ok {
		t.Skip("this kernel does not tell how a reaped process ended")
	}
	if e.Code != 7 || e.Signal != 0 {
		t.Errorf("%+v", e)
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
