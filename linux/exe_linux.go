package linux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// OpenForLook opens a file for reading without waiting for the other end of a
// FIFO or for a device, close-on-exec. It waits, as exec would, for the holder
// of a lease on a regular file to give it up: up to 45 s
// (/proc/sys/fs/lease-break-time).
func OpenForLook(path string) (int, error) {
	fd, err := open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if errors.Is(err, unix.EAGAIN) && isRegular(path) {
		// Only a lease makes the open of a regular file say so (fcntl(2),
		// F_SETLEASE; file servers take them for their clients).
		return open(path, unix.O_RDONLY|unix.O_NOCTTY)
	}
	return fd, err
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// OpenPath refers to a file without opening it (O_PATH), which needs no read
// permission.
func OpenPath(path string) (int, error) { return open(path, unix.O_PATH) }

// ReadAt reads from a plain descriptor.
func ReadAt(fd int, b []byte, off int64) (int, error) {
	return eintr(func() (int, error) { return unix.Pread(fd, b, off) })
}

// CanExecute tells whether this process, by its effective user, may execute
// the file, or search the directory.
func CanExecute(path string) error {
	_, err := eintr(func() (int, error) {
		return 0, unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
	})
	if err != nil {
		return &os.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}

// execSettles bounds the wait for a process that is in the middle of its exec.
// It is a few microseconds of the process's own time.
const execSettles = 500 * time.Millisecond

// ExecName is the path that was given to a process's last exec (AT_EXECFN). The
// kernel closes what is close-on-exec, which is how a parent learns of the
// exec, some steps before it writes the vector that holds the path: that is
// waited for.
func ExecName(pid int) (string, error) {
	base := "/proc/" + strconv.Itoa(pid)
	var at uint64
	for end := time.Now().Add(execSettles); ; Pause(100 * time.Microsecond) {
		auxv, err := readSmall(base + "/auxv")
		if err != nil {
			return "", err
		}
		const atExecFn = 31
		if at = auxValue(auxv, atExecFn); at != 0 {
			break
		}
		if time.Now().After(end) {
			return "", fmt.Errorf("auxv of %d holds no path", pid)
		}
	}
	fd, err := open(base+"/mem", unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, unix.PathMax)
	// The path lies at the top of the stack, so a read may end early.
	n, err := ReadAt(fd, b, int64(at))
	if n <= 0 {
		return "", fmt.Errorf("read path of %d: %w", pid, err)
	}
	if i := bytes.IndexByte(b[:n], 0); i >= 0 {
		n = i
	}
	return string(b[:n]), nil
}

// auxValue finds a value in an auxiliary vector of this word size; 0: none.
func auxValue(auxv []byte, key uint64) uint64 {
	const word = bits.UintSize / 8
	for ; len(auxv) >= 2*word; auxv = auxv[2*word:] {
		var k, v uint64
		if word == 8 {
			k, v = binary.NativeEndian.Uint64(auxv), binary.NativeEndian.Uint64(auxv[word:])
		} else {
			k, v = uint64(binary.NativeEndian.Uint32(auxv)), uint64(binary.NativeEndian.Uint32(auxv[word:]))
		}
		if k == key {
			return v
		}
	}
	return 0
}
