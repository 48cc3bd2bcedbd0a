package linux

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSpawnWithLastFiles: files that have the highest numbers of all start a program
// as others do.
func TestSpawnWithLastFiles(t *testing.T) {
	const limit = 256
	last := lastFile(t, limit)
	attr := SpawnAttr{Path: "/bin/true", Argv: []string{"true"}, Files: []uintptr{last, last, last}, CgroupFD: -1}
	c, err := Spawn(attr)
	if err != nil {
		t.Fatal(err)
	}
	CloseFD(c.Pidfd)
	if _, err := ReapPID(c.PID); err != nil {
		t.Error(err)
	}
	if unix.Close(int(last)) != nil {
		t.Fatal("the files were closed")
	}
	if _, err := Spawn(attr); !errors.Is(err, syscall.EBADF) {
		t.Errorf("what is closed: %v, want EBADF", err)
	}
}

// TestSpawnWithoutFiles: a shortage is told as such.
func TestSpawnWithoutFiles(t *testing.T) {
	const limit = 256
	last := lastFile(t, limit)
	defer unix.Close(int(last))
	var taken []int
	defer func() {
		for _, fd := range taken {
			unix.Close(fd)
		}
	}()
	for {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	for range 4 { // what the runtime needs to start a program, and one more
		unix.Close(taken[len(taken)-1])
		taken = taken[:len(taken)-1]
	}
	attr := SpawnAttr{Path: "/bin/true", Argv: []string{"true"}, Files: []uintptr{last, last, last}, CgroupFD: -1}
	if c, err := Spawn(attr); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("%+v, %v, want EMFILE", c, err)
	}
}

// lastFile lowers the limit of descriptors and gives the null device the last number.
func lastFile(t *testing.T, limit uint64) uintptr {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if was.Cur < limit {
		t.Skipf("only %d descriptors", was.Cur)
	}
	low := was
	low.Cur = limit
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fd, err := unix.FcntlInt(null.Fd(), unix.F_DUPFD_CLOEXEC, int(limit)-1)
	if err != nil {
		t.Fatal(err)
	}
	return uintptr(fd)
}
