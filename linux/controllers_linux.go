package linux

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Controllers are those that the group may give to the groups below it
// (cgroup.controllers).
func (c *Cgroup) Controllers() ([]string, error) { return c.words("cgroup.controllers") }

// Enabled are those that the groups below it have (cgroup.subtree_control).
func (c *Cgroup) Enabled() ([]string, error) { return c.words("cgroup.subtree_control") }

func (c *Cgroup) words(name string) ([]string, error) {
	b, err := c.read(name)
	return strings.Fields(string(b)), err
}

// Enable gives a controller to the groups below. The kernel answers EBUSY where
// processes are in the group itself, unless it is the root of the hierarchy.
func (c *Cgroup) Enable(controller string) error {
	return c.write("cgroup.subtree_control", "+"+controller)
}

// Disable takes a controller from the groups below.
func (c *Cgroup) Disable(controller string) error {
	return c.write("cgroup.subtree_control", "-"+controller)
}

// Take moves a whole process into the group. It needs write access to the
// cgroup.procs of the nearest group that holds both, too.
func (c *Cgroup) Take(pid int) error { return c.write("cgroup.procs", strconv.Itoa(pid)) }

// OwnProcs lists the processes in the group itself, and how many more there are
// that our pid namespace does not show.
func (c *Cgroup) OwnProcs() (pids []int, hidden int, err error) {
	b, err := c.read("cgroup.procs")
	if err != nil {
		return nil, 0, err
	}
	pids, hidden = parseAllPIDs(b)
	return pids, hidden, nil
}

// Children are the names of the groups directly below.
func (c *Cgroup) Children() ([]string, error) {
	entries, err := readDir(c.path)
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// Set writes one of the group's files.
func (c *Cgroup) Set(file, value string) error { return c.write(file, value) }

// Get reads one of the group's files, without the space around it.
func (c *Cgroup) Get(file string) (string, error) {
	b, err := c.read(file)
	return strings.TrimSpace(string(b)), err
}

// Count reads one value of a flat keyed file such as memory.events.
func (c *Cgroup) Count(file, key string) (uint64, bool) {
	b, err := c.read(file)
	if err != nil {
		return 0, false
	}
	return FlatValue(b, key)
}

// Limited tells whether the group itself caps memory, tasks or processors.
func (c *Cgroup) Limited() bool {
	for _, file := range []string{"memory.max", "memory.high", "pids.max", "cpu.max"} {
		if v, err := c.Get(file); err == nil && v != "max" && !strings.HasPrefix(v, "max ") {
			return true
		}
	}
	return false
}

// ControllerOn1 tells whether this process has a controller on cgroup v1.
func ControllerOn1(controller string) bool {
	b, err := readSmall("/proc/self/cgroup")
	return err == nil && Controller1(b, controller)
}

// Offered tells whether a controller is there for cgroup v2 at all: the root of
// the hierarchy has it (cgroup.controllers). Where the root is not shown, as in
// a container, that is not known, and true. /proc/cgroups would not do: a
// kernel (7.3) may leave out what v1 cannot have.
func Offered(controller string) bool {
	mounts, err := cgroup2Mounts()
	if err != nil {
		return true
	}
	for _, m := range mounts {
		if m.Root == "/" && IsCgroupRoot(m.Point) {
			all, err := CgroupAt(m.Point).Controllers()
			return err != nil || slices.Contains(all, controller)
		}
	}
	return true
}

// HasSwap tells whether any swap is in use on this machine.
func HasSwap() bool {
	b, err := readSmall("/proc/swaps")
	return err != nil || strings.Count(string(b), "\n") > 1
}

// SystemdRuns tells whether systemd manages the groups of this machine, as
// sd_booted(3) does.
func SystemdRuns() bool {
	return unix.Access("/run/systemd/system", unix.F_OK) == nil
}

// Delegated tells whether systemd has left a unit's directory to whom it runs
// (Delegate=yes). From version 251 on anybody may read that, before only root.
func Delegated(unit string) bool {
	for _, attr := range []string{"user.delegate", "trusted.delegate"} {
		var b [8]byte
		n, err := unix.Getxattr(unit, attr, b[:])
		if err == nil && n == 1 && b[0] == '1' {
			return true
		}
	}
	return false
}

// IsCgroupRoot tells whether a directory is the root of the whole hierarchy,
// which alone has no cgroup.type.
func IsCgroupRoot(dir string) bool {
	return unix.Access(dir+"/cgroup.type", unix.F_OK) == unix.ENOENT && IsCgroup2(dir)
}
