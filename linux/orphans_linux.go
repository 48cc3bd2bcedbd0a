package linux

import (
	"sync"

	"golang.org/x/sys/unix"
)

// started are the children that Spawn made and that nobody has reaped yet. The
// lock is shared by those who start one, and held alone while orphans are
// looked for: a child is in the list before it can be taken for one.
var started = struct {
	sync.RWMutex
	mu   sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

func noteStarted(pid int) {
	started.mu.Lock()
	started.pids[pid] = true
	started.mu.Unlock()
}

func noteReaped(pid int) {
	started.mu.Lock()
	delete(started.pids, pid)
	started.mu.Unlock()
}

// ReapOrphans collects the children of this process that have ended and that
// Spawn did not start, which is what the first process of a pid namespace owes
// the others, and gives their number.
func ReapOrphans() (int, error) {
	started.Lock()
	defer started.Unlock()
	kids, err := Children(unix.Getpid())
	n := 0
	for _, pid := range kids {
		started.mu.Lock()
		ours := started.pids[pid]
		started.mu.Unlock()
		if ours {
			continue
		}
		if _, ended, err := waitid(unix.P_PID, pid, unix.WEXITED|unix.WALL|unix.WNOHANG); err == nil && ended {
			n++
		}
	}
	return n, err
}
