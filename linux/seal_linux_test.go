package linux

import (
	"testing"

	"golang.org/x/sys/unix"
)

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
