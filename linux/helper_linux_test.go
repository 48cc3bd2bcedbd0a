package linux

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
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

func TestDescendants(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := exec.Command("/bin/sh", "-c", "(echo ready; exec sleep 60) & wait")
	c.Stdout = w
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer func() {
		_ = KillGroup(c.Process.Pid, syscall.SIGKILL) // it is unreaped
		_ = c.Wait()
	}()
	if _, err := r.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	kids, err := Children(os.Getpid())
	if err != nil || !slices.Contains(kids, c.Process.Pid) {
		t.Errorf("children %v, %v: want %d among them", kids, err, c.Process.Pid)
	}
	all, err := Descendants(c.Process.Pid)
	if err != nil || len(all) != 1 || all[0].PPID != c.Process.Pid {
		t.Errorf("descendants of the shell: %+v, %v", all, err)
	}
	var each []int
	if err := EachDescendant(c.Process.Pid, func(st Stat) { each = append(each, st.PID) }); err != nil || len(each) != 1 || each[0] != all[0].PID {
		t.Errorf("each descendant: %v, %v", each, err)
	}
}

func TestSocket(t *testing.T) {
	a, b, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFD(b)
	self, err := SelfPidfd()
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFD(self)
	if err := Send(a, []byte("one"), self); err != nil {
		t.Fatal(err)
	}
	if err := Send(a, []byte("two")); err != nil {
		t.Fatal(err)
	}
	var buf [8]byte
	n, files, err := Receive(b, buf[:])
	if err != nil || string(buf[:n]) != "one" || len(files) != 1 {
		t.Fatalf("%q %v %v", buf[:n], files, err)
	}
	pid, err := PidfdPID(files[0])
	if err != nil || pid != os.Getpid() {
		t.Errorf("the passed descriptor is of %d, %v", pid, err)
	}
	if flags, _, no := syscall.Syscall(syscall.SYS_FCNTL, uintptr(files[0]), syscall.F_GETFD, 0); no != 0 || flags&syscall.FD_CLOEXEC == 0 {
		t.Error("it would be inherited")
	}
	CloseFD(files[0])
	if n, files, err := Receive(b, buf[:]); err != nil || string(buf[:n]) != "two" || len(files) != 0 {
		t.Errorf("%q %v %v", buf[:n], files, err)
	}
	if HungUp(b) {
		t.Error("hung up before the end")
	}
	HangUp(a)
	if _, _, err := Receive(b, buf[:]); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	CloseFD(a)
	if !HungUp(b) {
		t.Error("the end is not seen")
	}
	if err := Send(b, []byte("x")); err != syscall.EPIPE {
		t.Errorf("to nobody: %v", err)
	}
}

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
