package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoCgroup2 means that no cgroup v2 file system shows this process's group.
var ErrNoCgroup2 = errors.New("no cgroup v2 file system is mounted")

// OwnCgroup is the directory of this process's cgroup v2 group.
func OwnCgroup() (string, error) { return groupDir("self") }

// CgroupOf is the directory of another process's group.
func CgroupOf(pid int) (string, error) { return groupDir(strconv.Itoa(pid)) }

func groupDir(process string) (string, error) {
	mounts, err := readSmall("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	own, err := readSmall("/proc/" + process + "/cgroup")
	if err != nil {
		return "", err
	}
	group, ok := ParseCgroupPath(own)
	if !ok {
		return "", ErrNoCgroup2
	}
	dir, ok := CgroupDir(ParseCgroup2Mounts(mounts), group)
	if !ok {
		return "", ErrNoCgroup2
	}
	return dir, nil
}

// Cgroup is one cgroup v2 group by its directory. Every method reaches the
// groups below it too.
type Cgroup struct{ path string }

// MakeCgroup creates a group below a parent directory.
func MakeCgroup(parent, name string) (*Cgroup, error) {
	path := parent + "/" + name
	dir, rest := place(path)
	if err := unix.Mkdirat(dir, rest, 0o755); err != nil {
		return nil, &os.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return &Cgroup{path: path}, nil
}

// CgroupAt is the group whose directory is path.
func CgroupAt(path string) *Cgroup { return &Cgroup{path: path} }

// Path is the group's directory.
func (c *Cgroup) Path() string { return c.path }

func (c *Cgroup) read(name string) ([]byte, error) { return readSmall(c.path + "/" + name) }

func (c *Cgroup) write(name, value string) error {
	fd, err := open(c.path+"/"+name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := eintr(func() (int, error) { return unix.Write(fd, []byte(value)) }); err != nil {
		return &os.PathError{Op: "write", Path: c.path + "/" + name, Err: err}
	}
	return nil
}

// Events opens cgroup.events for the poller (5.2: it wakes on a change; a
// change is told late, about 10 ms, when it follows another).
func (c *Cgroup) Events() (*Pollable, error) {
	name := c.path + "/cgroup.events"
	fd, err := open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return NewPollable(fd, name)
}

// Populated reads from an open cgroup.events whether a live process is in the
// group or below it; zombies do not count.
func Populated(events int) (bool, error) {
	var b [256]byte
	n, err := ReadAt(events, b[:], 0)
	if err == unix.ENODEV {
		return false, nil // removed, which only an empty group can be
	}
	if err != nil {
		return false, fmt.Errorf("read cgroup.events: %w", err)
	}
	v, ok := FlatValue(b[:n], "populated")
	if !ok {
		return false, fmt.Errorf("cgroup.events has no populated line: %q", b[:n])
	}
	return v != 0, nil
}

// Thaw lets the group run, unless one above it is frozen.
func (c *Cgroup) Thaw() error { return c.write("cgroup.freeze", "0") }

// Kill ends every process at once by cgroup.kill (5.14), which no fork
// escapes. Before that it freezes the group, kills each member and thaws; the
// caller repeats until the group is empty.
func (c *Cgroup) Kill() error {
	err := c.write("cgroup.kill", "1")
	if errors.Is(err, fs.ErrNotExist) {
		return c.sweep()
	}
	return err
}

func (c *Cgroup) sweep() error {
	if err := c.write("cgroup.freeze", "1"); err != nil {
		return err
	}
	held := map[int]int{}
	for _, pid := range c.Procs() {
		if fd, err := PidfdOpen(pid); err == nil {
			held[pid] = fd
		}
	}
	// A number that still stands in the list is the process that was opened: it
	// cannot have been given away and come back into a frozen group.
	for _, pid := range c.Procs() {
		if fd, ok := held[pid]; ok {
			_ = PidfdSignal(fd, unix.SIGKILL) // Best effort: it may be gone.
		}
	}
	for _, fd := range held {
		unix.Close(fd)
	}
	return c.write("cgroup.freeze", "0")
}

// Procs lists the processes of the group and of those below it, as far as this
// pid namespace shows them.
func (c *Cgroup) Procs() []int {
	var out []int
	c.each(func(dir string) {
		if b, err := readSmall(dir + "/cgroup.procs"); err == nil {
			out = append(out, parsePIDs(b)...)
		}
	})
	return out
}

// each calls f for the directory of the group and of every group below it, the
// deepest first.
func (c *Cgroup) each(f func(dir string)) { eachGroup(c.path, f) }

func eachGroup(dir string, f func(string)) {
	entries, err := readDir(dir)
	if err == nil {
		for _, e := range entries {
			if e.IsDir() {
				eachGroup(dir+"/"+e.Name(), f)
			}
		}
	}
	f(dir)
}

// Has tells whether a process, which may be a zombie, is in the group or below
// it. Not known: the process is gone, or its group cannot be read or located.
func (c *Cgroup) Has(pid int) (in, known bool) {
	b, err := readSmall("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return false, false
	}
	group, ok := ParseCgroupPath(b)
	if !ok {
		return false, false
	}
	// A group seen from outside our cgroup namespace starts with "/..": it is
	// above every group that we could have made.
	if strings.HasPrefix(group, "/..") {
		return false, true
	}
	mounts, err := cgroup2Mounts()
	if err != nil {
		return false, false
	}
	dir, ok := CgroupDir(mounts, group)
	if !ok {
		// No mount shows it, though one shows this group.
		return false, len(mounts) > 0
	}
	return dir == c.path || strings.HasPrefix(dir, c.path+"/"), true
}

// cgroup2Mounts are those of the first reading that succeeded: a group of ours
// stays where its path was made from.
func cgroup2Mounts() ([]Mount, error) { return knownMounts.find() }

var knownMounts = fact[[]Mount]{ask: func() ([]Mount, error) {
	b, err := readSmall("/proc/self/mountinfo")
	return ParseCgroup2Mounts(b), err
}}

// CPU is the processor time of everything that ever ran in the group
// (cpu.stat, which needs no controller).
func (c *Cgroup) CPU() (time.Duration, bool) {
	b, err := c.read("cpu.stat")
	if err != nil {
		return 0, false
	}
	return cpuUsage(b)
}

func cpuUsage(stat []byte) (time.Duration, bool) {
	us, ok := FlatValue(stat, "usage_usec")
	return time.Duration(us) * time.Microsecond, ok
}

// PeakMemory is memory.peak (5.19, memory controller), bytes.
func (c *Cgroup) PeakMemory() (int64, bool) { return c.number("memory.peak") }

// PeakTasks is pids.peak (6.1, pids controller); it counts threads.
func (c *Cgroup) PeakTasks() (int64, bool) { return c.number("pids.peak") }

func (c *Cgroup) number(name string) (int64, bool) {
	b, err := c.read(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// Remove removes the group's directory and those below it, the deepest first:
// a program that made groups of its own leaves them behind, and the kernel
// answers EBUSY to the outer one.
func (c *Cgroup) Remove() error { return RemoveCgroup(c.path) }

// RemoveEmpty removes the group unless something lives in it, or a group is below
// it. True: it is gone, whoever removed it, which proves that nothing lives there
// and that nothing will.
func (c *Cgroup) RemoveEmpty() bool {
	err := rmdir(c.path)
	return err == nil || err == unix.ENOENT
}

// RemoveCgroup is Cgroup.Remove by path. A directory that is gone is no error.
func RemoveCgroup(path string) error {
	if err := rmdir(path); err == nil || err == unix.ENOENT {
		return nil
	}
	var first error
	eachGroup(path, func(dir string) {
		if err := rmdir(dir); err != nil && err != unix.ENOENT && first == nil {
			first = &os.PathError{Op: "rmdir", Path: dir, Err: err}
		}
	})
	return first
}

// CanKill tells whether Kill is permitted, without doing it.
func (c *Cgroup) CanKill() error {
	name := c.path + "/cgroup.kill"
	fd, err := open(name, unix.O_WRONLY)
	if errors.Is(err, fs.ErrNotExist) {
		name = c.path + "/cgroup.freeze"
		fd, err = open(name, unix.O_WRONLY)
	}
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
