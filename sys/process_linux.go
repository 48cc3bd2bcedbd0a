package sys

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

func identifyLive(pid int) (ID, error) {
	st, err := linux.ReadStat("/proc", pid)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return ID{}, ErrNoProcess
	case err != nil:
		return ID{}, err
	case st.Dead():
		return ID{}, ErrNoProcess
	}
	return idOfLive(st), nil
}

// idOfLive is the identity of a process that may not be ours to reap, and may be gone
// since its stat was read.
func idOfLive(st linux.Stat) ID {
	id := ID{PID: st.PID, Birth: st.Start, Kind: BirthStartTicks, Boot: linux.BootID()}
	if fd, err := linux.OpenProcess(st.PID, st.Start); err == nil {
		id.Unique = linux.PidfdUnique(fd)
		linux.CloseFD(fd)
	}
	return id
}

// relativesOf lists the processes that may belong to root's tree.
func relativesOf(root ID) ([]relative, error) {
	var rows []relative
	boot := linux.BootID()
	err := linux.EachStat("/proc", func(st linux.Stat) {
		if st.Dead() || st.Start < root.Birth {
			return
		}
		rows = append(rows, relative{
			Process: Process{ID: ID{PID: st.PID, Birth: st.Start, Kind: BirthStartTicks, Boot: boot}, PPID: st.PPID, Name: st.Comm},
			session: st.Session == root.PID,
		})
	})
	return rows, err
}
