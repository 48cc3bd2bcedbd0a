package linux

import (
	"os"
	"os/exec"
	"testing"
)

// TestMark: what a marked process starts bears its mark.
func TestMark(t *testing.T) {
	if !CanMark() {
		t.Skip("no marks can be given here")
	}
	const mark = 1<<61 + 12345
	c := exec.Command("/bin/sh", "-c", "read x; sleep 60 & echo $!; wait")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		kids, _ := Children(c.Process.Pid)
		for _, pid := range kids {
			_ = Kill(pid, 9) // its parent has not reaped it
		}
		_ = c.Process.Kill() // it may have ended
		_ = c.Wait()
	}()
	if err := Mark(c.Process.Pid, mark); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	kids, err := Children(c.Process.Pid)
	if err != nil || len(kids) != 1 {
		t.Fatalf("%v %v", kids, err)
	}
	for _, pid := range append(kids, c.Process.Pid) {
		if got, ok := MarkOf(pid); !ok || got != mark {
			t.Errorf("mark of %d: %d %v", pid, got, ok)
		}
	}
	if own, ok := MarkOf(os.Getpid()); !ok || own == mark {
		t.Errorf("own mark %d %v", own, ok)
	}
	if _, ok := MarkOf(1 << 30); ok {
		t.Error("of nobody")
	}
}

// TestLastPID: whoever is started next has a later number, or numbers went round.
func TestLastPID(t *testing.T) {
	forks, ok := Forks()
	if !ok {
		t.Skip("/proc/stat does not tell")
	}
	before, ok := LastPID()
	if !ok {
		t.Fatal("not known")
	}
	c := sleeper(t, "/bin/sleep", "60")
	after, ok := LastPID()
	if !ok || after < c.Process.Pid && before < c.Process.Pid {
		t.Errorf("last %d, then %d, then %d", before, c.Process.Pid, after)
	}
	if now, ok := Forks(); !ok || now <= forks {
		t.Errorf("%d forks, then %d", forks, now)
	}
	if MaxPID() <= c.Process.Pid {
		t.Errorf("the most is %d", MaxPID())
	}
}
