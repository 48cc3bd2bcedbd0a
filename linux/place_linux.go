package linux

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A job of root may mount something over /proc or over the control groups. So
// both are held open from before the first job on, for walking alone (O_PATH), and
// what lies below them is opened from there.

// procDir is the descriptor of /proc and one, 0 while it is not held.
var procDir atomic.Int32

// cgroupDirs are the mounts that HoldCgroup has opened.
var cgroupDirs struct {
	sync.Mutex // of those who add
	all        atomic.Pointer[[]heldDir]
}

type heldDir struct {
	point string
	fd    int
}

func openPlace(path string) int {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// HoldProc opens /proc, as it is now, for the life of this process, unless it is
// held already.
func HoldProc() {
	if procDir.Load() != 0 {
		return
	}
	if fd := openPlace("/proc"); !procDir.CompareAndSwap(0, int32(fd+1)) {
		unix.Close(fd)
	}
}

// ProcDir is the held descriptor of /proc, for a helper; -1: there is none.
func ProcDir() int { return int(procDir.Load()) - 1 }

// UseProc holds a descriptor of /proc that this program was given, if it is one:
// something may have been mounted over that meanwhile.
func UseProc(fd int) {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) == nil && int64(st.Type) == unix.PROC_SUPER_MAGIC {
		procDir.CompareAndSwap(0, int32(fd+1))
	}
	HoldProc()
}

// HoldCgroup opens, for the life of this process, the mount in which the directory
// of a control group lies.
func HoldCgroup(dir string) {
	mounts, err := cgroup2Mounts()
	if err != nil {
		return // Best effort: paths are walked then.
	}
	cgroupDirs.Lock()
	defer cgroupDirs.Unlock()
	var now []heldDir
	if all := cgroupDirs.all.Load(); all != nil {
		now = *all
	}
	for _, m := range mounts {
		_, name := placeIn(now, m.Point)
		if _, below := cutDir(dir, m.Point); !below || name == "." {
			continue
		}
		if fd := openPlace(m.Point); fd >= 0 && isCgroup2(fd) {
			now = append(now[:len(now):len(now)], heldDir{m.Point, fd})
		} else {
			unix.Close(fd)
		}
	}
	cgroupDirs.all.Store(&now)
}

func isCgroup2(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && int64(st.Type) == unix.CGROUP2_SUPER_MAGIC
}

// place gives a path as openat takes it.
func place(path string) (dir int, name string) {
	if dir := ProcDir(); dir >= 0 {
		if rest, below := cutDir(path, "/proc"); below {
			return dir, rest
		}
	}
	if all := cgroupDirs.all.Load(); all != nil {
		return placeIn(*all, path)
	}
	return unix.AT_FDCWD, path
}

func placeIn(held []heldDir, path string) (dir int, name string) {
	for _, h := range held {
		if rest, below := cutDir(path, h.point); below {
			return h.fd, rest
		}
	}
	return unix.AT_FDCWD, path
}

// cutDir gives the name of a path in a directory, "." being the directory.
func cutDir(path, dir string) (name string, below bool) {
	rest, begins := strings.CutPrefix(path, dir)
	switch {
	case !begins || rest != "" && rest[0] != '/':
		return "", false
	case len(rest) < 2:
		return ".", true
	}
	return rest[1:], true
}

// readDir lists a directory.
func readDir(path string) ([]os.DirEntry, error) {
	fd, err := open(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(fd), path)
	defer d.Close()
	return d.ReadDir(-1)
}

func rmdir(path string) error {
	dir, name := place(path)
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

// OwnPath is where the file of this program is, or was.
func OwnPath() (string, error) {
	var b [unix.PathMax]byte
	dir, name := place("/proc/self/exe")
	n, err := unix.Readlinkat(dir, name, b[:])
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: "/proc/self/exe", Err: err}
	}
	return string(b[:n]), nil
}
