package linux

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func sleeper(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	})
	return c
}

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
