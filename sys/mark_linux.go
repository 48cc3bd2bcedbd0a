package sys

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// marks gives each tree of a host a number of its own, which its leader bears
// and, by inheritance, all that descends from it (linux.Mark). It tells whose a
// process is that left its container and whose ancestors are gone. Whoever means
// to get away can put it off, so it finds, and never proves that nobody is there.
type marks struct {
	base uint64 // of the host, random; 0: none can be given
	last atomic.Uint64
}

// serialBits are the low bits of a mark, which tell a host's trees apart.
const serialBits = 24

// markBit is the highest bit of every mark: far from what anybody would set, and
// below infinity.
const markBit = 1 << 61

func newMarks() *marks {
	m := &marks{}
	if !linux.CanMark() {
		return m
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	m.base = (markBit | binary.LittleEndian.Uint64(b[:])%markBit) &^ (1<<serialBits - 1)
	return m
}

// next is the mark of one more tree, 0 when none can be given.
func (m *marks) next() uint64 {
	if m.base == 0 {
		return 0
	}
	return m.base | m.last.Add(1)%(1<<serialBits)
}

// name is the base as the guardian is told.
func (m *marks) name() string { return strconv.FormatUint(m.base, 10) }

// ofHost tells whether a mark is one of the trees of the host with that base.
func ofHost(mark, base uint64) bool {
	return base>>61 == 1 && mark&^(1<<serialBits-1) == base
}

// bear marks a leader that is unreaped, once its program runs already.
func (l *leader) bear(mark uint64) {
	if mark != 0 && linux.Mark(l.id.PID, mark) == nil {
		l.mark = mark
	}
}

// bearAll marks what a leader started before it was marked itself, as far as it
// is in its container.
func (l *leader) bearAll(in *linux.Cgroup) {
	if last, ok := linux.LastPID(); l.mark == 0 || ok && last == l.id.PID {
		return
	}
	own, ok := linux.MarkOf(0)
	for again := ok; again; {
		again = false
		for _, pid := range in.Procs() {
			if mark, ok := linux.MarkOf(pid); ok && mark == own && pid != l.id.PID {
				again = markMember(in, pid, l.mark, own) || again
			}
		}
	}
}

// markMember marks a process if that is in the container. False: it was not, or
// is gone.
func markMember(in *linux.Cgroup, pid int, mark, before uint64) bool {
	fd, err := linux.PidfdOpen(pid)
	if err != nil {
		return false
	}
	defer linux.CloseFD(fd)
	if inside, _ := in.Has(pid); !inside || linux.Mark(pid, mark) != nil {
		return false
	}
	if linux.PidfdSignal(fd, 0) == nil {
		return true
	}
	// Reaped meanwhile: the number may have been given to another.
	if now, ok := linux.MarkOf(pid); ok && now == mark {
		_ = linux.Mark(pid, before) // an error: that one is gone, too
	}
	return false
}

// startMarked starts a process that is born with a mark, unless that is 0, by
// having this process bear it meanwhile.
func startMarked(mark uint64, attr linux.SpawnAttr) (linux.Child, error) {
	if own, ok := linux.MarkOf(0); mark != 0 && ok && linux.Mark(0, mark) == nil {
		defer func() { _ = linux.Mark(0, own) }() // it was that before
	}
	return linux.Spawn(attr)
}

const (
	// endLimit bounds the time in which those who bear a mark are ended.
	endLimit = 5 * time.Second
	// endPause is the first of ever longer pauses between two looks.
	endPause = time.Millisecond
)

// endMarked ends all that bear a mark of the host with that base, until two looks
// find nobody: a table is not read in one moment.
func endMarked(base uint64) {
	pause := endPause
	for clean, end := 0, time.Now().Add(endLimit); clean < 2 && time.Now().Before(end); {
		last, _ := linux.LastPID() // false: the second look has to do
		pids, err := linux.Processes()
		if err != nil {
			return // Best effort: no descriptor is to be had.
		}
		clean++
		for range catchUps {
			for _, pid := range pids {
				if pid != os.Getpid() && endIfMarked(pid, base) {
					clean = 0
				}
			}
			now, _ := linux.LastPID()
			if now <= last {
				break
			}
			pids = pids[:0]
			for last < now {
				last++
				pids = append(pids, last)
			}
		}
		if clean == 0 {
			linux.Pause(pause)
			pause *= 2
		}
	}
}

// endIfMarked kills a live process that bears such a mark. False: it is none.
func endIfMarked(pid int, base uint64) bool {
	if mark, ok := linux.MarkOf(pid); !ok || !ofHost(mark, base) {
		return false
	}
	fd, err := linux.PidfdOpen(pid)
	if err != nil {
		return false
	}
	defer linux.CloseFD(fd)
	// Read again while it lives, so that the number was its own.
	mark, ok := linux.MarkOf(pid)
	return ok && ofHost(mark, base) && !linux.PidfdExited(fd) && linux.PidfdSignal(fd, syscall.SIGKILL) == nil
}
