package darwin

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ReadKinfo reads the record of one process, a zombie included. A process that
// does not exist is unix.ESRCH.
func ReadKinfo(pid int) (Kinfo, error) {
	list, err := query("kern.proc.pid", pid)
	if err != nil {
		return Kinfo{}, err
	}
	if len(list) == 0 || list[0].PID != pid {
		return Kinfo{}, fmt.Errorf("read process %d: %w", pid, unix.ESRCH)
	}
	return list[0], nil
}

// ReadGroup reads the records of all members of a process group, zombies
// included. A group without members is an empty list.
func ReadGroup(pgid int) ([]Kinfo, error) { return query("kern.proc.pgrp", pgid) }

// ReadAll reads the records of every process that this user may see, which on
// macOS is all of them.
func ReadAll() ([]Kinfo, error) { return query("kern.proc.all") }

// query asks for records. The kernel's size estimate may be outrun by new
// processes between its two calls, which it reports as ENOMEM: asked again.
func query(name string, args ...int) ([]Kinfo, error) {
	for try := 0; ; try++ {
		b, err := unix.SysctlRaw(name, args...)
		switch {
		case err == nil:
			return DecodeKinfos(b)
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOMEM) && try < 20:
			continue
		case errors.Is(err, unix.ESRCH):
			return nil, nil
		}
		return nil, fmt.Errorf("sysctl %s %v: %w", name, args, err)
	}
}

// BootSession is the random name of this boot (kern.bootsessionuuid), which
// start times of records on disk are paired with.
func BootSession() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

// Release is the kernel's version, such as "24.1.0" (kern.osrelease).
func Release() (string, error) { return unix.Sysctl("kern.osrelease") }
