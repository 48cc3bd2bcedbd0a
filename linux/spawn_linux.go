package linux

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// SpawnAttr is what Spawn starts.
type SpawnAttr struct {
	Path     string
	Argv     []string
	Env      []string
	Dir      string // "" leaves the directory as it is
	Files    []uintptr
	CgroupFD int            // directory to be born in (5.7); negative: ours
	Shared   bool           // a group of its own in our session, instead of a new session
	Terminal bool           // Files[0] becomes the new session's controlling terminal
	OnDeath  syscall.Signal // sent when the calling thread ends (PR_SET_PDEATHSIG); 0: none
}

// Child is a process that Spawn started.
type Child struct {
	PID, Pidfd int
	// Start is what Stat will give as its start; 0: only reading that tells.
	Start uint64
}

// Spawn starts a program as leader of a new session and group, or of a group
// alone. Files become its descriptors from 0 up; whatever else is not
// close-on-exec is inherited. The call returns after exec: until then the
// whole process cannot stop for a garbage collection, so nothing in it may
// wait for a slow file system.
//
// The child gets the signal mask of the calling thread. With OnDeath that thread
// must live as long as the child: the kernel ties the death signal to it. Where
// IsSecure tells yes the kernel forgets the signal in exec.
func Spawn(a SpawnAttr) (Child, error) {
	pidfd := -1
	attr := &syscall.SysProcAttr{Setsid: !a.Shared, Setpgid: a.Shared, Setctty: a.Terminal, Pdeathsig: a.OnDeath, PidFD: &pidfd}
	if a.CgroupFD >= 0 {
		attr.UseCgroupFD = true
		attr.CgroupFD = a.CgroupFD
	}
	started.RLock()
	defer started.RUnlock()
	before := startTicks()
	pid, err := forkExec(a.Path, a.Argv, &syscall.ProcAttr{Dir: a.Dir, Env: a.Env, Files: a.Files, Sys: attr})
	if err != nil {
		return Child{Pidfd: -1}, err
	}
	// It was born in between, so in the same tick if that is one.
	start := startTicks()
	if start != before {
		start = 0
	}
	noteStarted(pid)
	if pidfd < 0 {
		// Before 5.2. The child is ours and unreaped, so the number is its own.
		if pidfd, err = PidfdOpen(pid); err != nil {
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = ReapPID(pid)
			return Child{Pidfd: -1}, fmt.Errorf("pidfd_open: %w", err)
		}
	}
	return Child{PID: pid, Pidfd: pidfd, Start: start}, nil
}

// startTicks is what a process that is born now has as its start: the time since
// boot in ticks, as this process's time namespace sees it (3.17).
func startTicks() uint64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return uint64(ts.Nano()) / (1e9 / TicksPerSecond)
}

// atSecure is AT_SECURE of the auxiliary vector, which x/sys has no name for.
const atSecure = 23

// IsSecure tells whether this program was given rights by its file (AT_SECURE,
// 2.6): set-user-ID, or capabilities.
func IsSecure() bool {
	pairs, err := unix.Auxv()
	return err != nil || slices.ContainsFunc(pairs, func(p [2]uintptr) bool { return p[0] == atSecure && p[1] != 0 })
}

// SelfPidfd refers to this process.
func SelfPidfd() (int, error) { return PidfdOpen(unix.Getpid()) }

// MemFile gives a file in memory that holds b, close-on-exec, read from its
// start (memfd_create, 3.17).
func MemFile(name string, b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteAt(b, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// WaitEvent blocks the calling thread until an open cgroup.events tells a
// change, for at most ms milliseconds.
func WaitEvent(events, ms int) {
	p := []unix.PollFd{{Fd: int32(events), Events: unix.POLLPRI}}
	_, _ = unix.Poll(p, ms)
}
