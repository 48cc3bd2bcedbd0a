package darwin

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// hang bounds a wait that is expected to end at once on an idle machine.
const hang = 30 * time.Second

// TestMain doubles as the child of the tests: it reads its input to the end,
// so a test decides when it ends, and exits with 7.
func TestMain(m *testing.M) {
	if os.Getenv("DARWIN_TEST_CHILD") == "1" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(7)
	}
	os.Exit(m.Run())
}

// child starts this binary as a child in its own session; closing the writer ends it.
func child(t *testing.T) (pid int, end io.Closer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "DARWIN_TEST_CHILD=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, in
}

func note(t *testing.T, ch <-chan ExitNote) ExitNote {
	t.Helper()
	select {
	case n := <-ch:
		return n
	case <-time.After(hang):
		t.Fatal("no exit note")
		return ExitNote{}
	}
}

func TestLifeOfAChild(t *testing.T) {
	w, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pid, end := child(t)
	born, err := ReadKinfo(pid)
	if err != nil {
		t.Fatal(err)
	}
	if born.PPID != os.Getpid() || born.PGID != pid || born.State == Zombie || born.Start == 0 || born.Command == "" {
		t.Errorf("record of the child: %+v", born)
	}
	ch := make(chan ExitNote, 1)
	if gone, err := w.Exit(pid, func(n ExitNote) { ch <- n }); gone || err != nil {
		t.Fatal(gone, err)
	}
	end.Close()
	if n := note(t, ch); n.Known && syscall.WaitStatus(n.WaitStatus).ExitStatus() != 7 {
		t.Errorf("note: %+v, want exit 7", n)
	}
	// Not reaped: the record must still be there, with the same identity.
	held, err := ReadKinfo(pid)
	if err != nil || held.Start != born.Start {
		t.Errorf("record of the held child: %+v, %v", held, err)
	}
	group, err := ReadGroup(pid)
	if err != nil || len(group) > 1 {
		t.Errorf("group of the held child: %+v, %v", group, err)
	}
	if gone, err := w.Exit(pid, func(ExitNote) {}); !gone || err != nil {
		t.Errorf("watch of an ended child: %v, %v", gone, err)
	}
	r, err := Reap(pid)
	if err != nil || r.Status.ExitStatus() != 7 || r.CPU <= 0 || r.MaxRSS <= 0 {
		t.Errorf("reaped: %+v, %v", r, err)
	}
	if _, err := ReadKinfo(pid); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("record after the reap: %v", err)
	}
}

func TestZombieKeepsItsStatus(t *testing.T) {
	pid, end := child(t)
	alive, err := ReadUnique(pid)
	if err != nil {
		t.Fatal(err)
	}
	end.Close()
	deadline := time.Now().Add(hang)
	for {
		k, err := ReadKinfo(pid)
		if err != nil {
			t.Fatal(err)
		}
		if k.State == Zombie {
			if got := syscall.WaitStatus(k.WaitStatus); !got.Exited() || got.ExitStatus() != 7 {
				t.Errorf("status in the record: %#x", k.WaitStatus)
			}
			if u, err := ReadUnique(pid); err != nil || u != alive {
				t.Errorf("unique id %+v, alive %+v: %v", u, alive, err)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("never a zombie: %+v", k)
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := Reap(pid); err != nil {
		t.Error(err)
	}
}

func TestUniqueAndUsage(t *testing.T) {
	self, err := ReadUnique(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	pid, end := child(t)
	kid, err := ReadUnique(pid)
	if err != nil || kid.Parent != self.ID || kid.ID == self.ID {
		t.Errorf("child %+v of %+v: %v", kid, self, err)
	}
	if u, err := ReadRusage(os.Getpid()); err != nil || u.CPU <= 0 || u.CPU > time.Hour || u.PeakFootprint <= 0 {
		t.Errorf("own usage: %+v, %v", u, err)
	}
	end.Close()
	if _, err := Reap(pid); err != nil {
		t.Error(err)
	}
}

func TestReadAllHoldsUs(t *testing.T) {
	list, err := ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range list {
		if k.PID == os.Getpid() {
			if k.PPID != os.Getppid() || k.Start == 0 {
				t.Errorf("own record: %+v", k)
			}
			return
		}
	}
	t.Errorf("%d records, ours is not among them", len(list))
}

func TestClosedWatcherRefuses(t *testing.T) {
	w, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := w.Exit(os.Getpid(), func(ExitNote) {}); !errors.Is(err, ErrWatcherClosed) {
		t.Errorf("watch after close: %v", err)
	}
}

func TestBootAndRelease(t *testing.T) {
	a, err := BootSession()
	b, err2 := BootSession()
	if err != nil || err2 != nil || a == "" || a != b {
		t.Errorf("boot session %q %q, %v %v", a, b, err, err2)
	}
	if r, err := Release(); err != nil || r == "" {
		t.Errorf("release %q, %v", r, err)
	}
}
