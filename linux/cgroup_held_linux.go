package linux

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// HeldCgroup is a group whose directory is held open, so that what happens in
// it for each process born there needs no walk along its path: in a kernel
// file system that costs more than what is done at its end.
type HeldCgroup struct {
	*Cgroup
	dir    int
	id     uint64 // of the group; see PidfdCgroup
	events int    // cgroup.events; -1: not open
	cpu    int    // cpu.stat; -1: not open
}

// Hold opens the group's directory.
func (c *Cgroup) Hold() (*HeldCgroup, error) {
	fd, err := open(c.path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return holdDir(c, fd)
}

// holdDir takes over the open directory.
func holdDir(c *Cgroup, dir int) (*HeldCgroup, error) {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		unix.Close(dir)
		return nil, &os.PathError{Op: "stat", Path: c.path, Err: err}
	}
	return &HeldCgroup{Cgroup: c, dir: dir, id: uint64(st.Ino), events: -1, cpu: -1}, nil
}

// Make creates a group below this one and opens its directory.
func (h *HeldCgroup) Make(name string) (*HeldCgroup, error) {
	c := &Cgroup{path: h.path + "/" + name}
	if err := unix.Mkdirat(h.dir, name, 0o755); err != nil {
		return nil, &os.PathError{Op: "mkdir", Path: c.path, Err: err}
	}
	fd, err := openAt(h.dir, name, c.path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil {
		var made *HeldCgroup
		if made, err = holdDir(c, fd); err == nil {
			return made, nil
		}
	}
	_ = unix.Unlinkat(h.dir, name, unix.AT_REMOVEDIR) // Best effort: it is empty.
	return nil, err
}

// Dir is the open directory, for SpawnAttr; -1 once it was closed.
func (h *HeldCgroup) Dir() int { return h.dir }

// Watch opens what State reads.
func (h *HeldCgroup) Watch() (err error) {
	const how = unix.O_RDONLY | unix.O_NONBLOCK
	name := h.path + "/cgroup.events"
	if h.dir < 0 {
		h.events, err = open(name, how)
	} else {
		h.events, err = openAt(h.dir, "cgroup.events", name, how)
	}
	return err
}

// Watched tells whether that is open.
func (h *HeldCgroup) Watched() bool { return h.events >= 0 }

// Unwatch closes it.
func (h *HeldCgroup) Unwatch() { closeOpen(&h.events) }

// Count opens what CPU reads.
func (h *HeldCgroup) Count() (err error) {
	h.cpu, err = openAt(h.dir, "cpu.stat", h.path+"/cpu.stat", unix.O_RDONLY)
	return err
}

// State reads whether a live process is in the group or below it, zombies left
// out, and whether it is frozen. ErrNotExist: the group was removed.
func (h *HeldCgroup) State() (populated, frozen bool, err error) {
	var b [256]byte
	n, err := ReadAt(h.events, b[:], 0)
	if err == unix.ENODEV {
		err = unix.ENOENT
	}
	if err != nil {
		return false, false, &os.PathError{Op: "read", Path: h.path + "/cgroup.events", Err: err}
	}
	v, ok := FlatValue(b[:n], "populated")
	if !ok {
		return false, false, errors.New(h.path + "/cgroup.events has no populated line")
	}
	f, _ := FlatValue(b[:n], "frozen")
	return v != 0, f != 0, nil
}

// Pollable gives the open cgroup.events to the poller. It must be closed, and
// State is not to be asked any more.
func (h *HeldCgroup) Pollable() (*Pollable, error) {
	fd := h.events
	h.events = -1
	return NewPollable(fd, h.path+"/cgroup.events")
}

// Reusable tells whether all of it is open still and no group was made below it,
// which its directory's links tell.
func (h *HeldCgroup) Reusable() bool {
	var st unix.Stat_t
	return h.events >= 0 && h.cpu >= 0 && unix.Fstat(h.dir, &st) == nil && st.Nlink == 2
}

// CPU is Cgroup.CPU.
func (h *HeldCgroup) CPU() (time.Duration, bool) {
	if h.cpu < 0 {
		return h.Cgroup.CPU()
	}
	var b [1024]byte
	n, err := ReadAt(h.cpu, b[:], 0)
	if err != nil {
		return 0, false
	}
	return cpuUsage(b[:n])
}

// Has tells whether the process behind a pidfd, which may be a zombie, is in
// the group or below it. Not known: it was reaped, or cannot be located.
func (h *HeldCgroup) Has(pidfd, pid int) (in, known bool) {
	// A group below this one has an id of its own: only the path tells.
	if id, ok := PidfdCgroup(pidfd); ok && wordIs64 && id == h.id {
		return true, true
	}
	return h.Cgroup.Has(pid)
}

// Lock locks the directory until it is closed or this process ends. EWOULDBLOCK:
// another has it.
func (h *HeldCgroup) Lock() error {
	_, err := eintr(func() (int, error) { return 0, unix.Flock(h.dir, unix.LOCK_EX|unix.LOCK_NB) })
	return err
}

// AtPath tells whether the directory that is open is still the one at its path.
func (h *HeldCgroup) AtPath() bool {
	var st unix.Stat_t
	return unix.Stat(h.path, &st) == nil && uint64(st.Ino) == h.id
}

// CloseDir closes the directory alone.
func (h *HeldCgroup) CloseDir() { closeOpen(&h.dir) }

// Close closes all that is open. The group stays.
func (h *HeldCgroup) Close() {
	closeOpen(&h.dir)
	closeOpen(&h.events)
	closeOpen(&h.cpu)
}

func closeOpen(fd *int) {
	if *fd >= 0 {
		unix.Close(*fd)
		*fd = -1
	}
}
