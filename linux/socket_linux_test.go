package linux

import (
	"io"
	"os"
	"syscall"
	"testing"
)

// The last words of one that ended with a message of ours unread are heard.
func TestLastWords(t *testing.T) {
	ours, theirs, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer CloseFD(ours)
	for _, w := range []string{"exit", "empty"} {
		if err := Send(theirs, []byte(w)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Send(ours, []byte("kill")); err != nil {
		t.Fatal(err)
	}
	CloseFD(theirs)
	for _, want := range []string{"exit", "empty"} {
		var b [16]byte
		n, _, err := Receive(ours, b[:])
		if err != nil || string(b[:n]) != want {
			t.Fatalf("%q, %v instead of %q", b[:n], err, want)
		}
	}
	var b [16]byte
	if _, _, err := Receive(ours, b[:]); err != io.EOF {
		t.Errorf("at the end: %v", err)
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
