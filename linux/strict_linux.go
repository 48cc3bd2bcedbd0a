package linux

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Namespaces are the attributes of a process that is the first of a pid
// namespace of its own, with mounts of its own. With user it gets a user
// namespace too, in which it keeps its user and group and has the capabilities
// to mount; without, the caller must have CAP_SYS_ADMIN. The kernel kills
// whatever is in the pid namespace when its first process ends.
func Namespaces(user bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	if !user {
		return a
	}
	uid, gid := unix.Geteuid(), unix.Getegid()
	a.Cloneflags |= unix.CLONE_NEWUSER
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	if uid != 0 {
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	}
	return a
}

// MountOwnProc puts a /proc of this process's own pid namespace in the place of
// the other one, seen in this mount namespace alone.
func MountOwnProc() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// ContainerCapabilities are those that container engines leave to root, but for
// mknod: enough for files, users and low ports, not for leaving a namespace.
const ContainerCapabilities uint64 = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_FSETID | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETPCAP |
	1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_NET_RAW | 1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_AUDIT_WRITE |
	1<<unix.CAP_SETFCAP

// Confine takes from the calling thread, and from what it starts, every
// capability but those to keep, and any way to gain one by exec
// (PR_SET_NO_NEW_PRIVS, 3.5: setuid programs run without their rights).
func Confine(keep uint64) error {
	for c := uintptr(0); c < 64; c++ {
		if keep&(1<<c) == 0 {
			// EINVAL: the kernel has fewer. EPERM: without CAP_SETPCAP the bounding
			// set stays, and is of no use without new privileges.
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // EINVAL: before 4.3, which had none
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	for i := range data {
		mask := uint32(keep >> (32 * i))
		data[i].Permitted &= mask
		data[i].Effective &= mask
		data[i].Inheritable = 0
	}
	if err := unix.Capset(&hdr, &data[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	return nil
}
