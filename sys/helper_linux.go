package sys

import (
	"slices"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// The roles.
const (
	roleGuardianStart = "guardian-start" // starts the guardian and ends
	roleGuardian      = "guardian"
	roleGuardianChild = "guardian-child" // guards, and soon leaves that to a guardian
	roleTrampoline    = "trampoline"
	roleKeeperStart   = "keeper-start" // starts the keeper and ends
	roleKeeper        = "keeper"
	roleShim          = "shim"
	roleInit          = "init"      // of a pid namespace
	roleUserInit      = "user-init" // and of a user namespace
	roleNothing       = "nothing"   // ends at once: proof that a rung works
)

func initProcess() {
	initCalled.Store(true)
	// Best effort: an old kernel without /proc leaves what was inherited.
	_ = linux.SealFrom(3)
}

const (
	// heldLook is the distance of the looks at a helper that ends soon.
	heldLook = 250 * time.Millisecond
	// heldLimit is how long it may take all the same.
	heldLimit = 10 * time.Second
)

// endSoon observes the end of a helper that ends soon. One that does not is
// killed, with what it has started: a job may have stopped it, and it would be
// waited for as long as the job likes.
func (l *leader) endSoon() error {
	over := make(chan struct{})
	defer close(over)
	go func() {
		look := time.NewTicker(heldLook)
		defer look.Stop()
		for begin := time.Now(); ; {
			select {
			case <-over:
				return
			case <-look.C:
			}
			if !isHeld(l.id) && time.Since(begin) < heldLimit {
				continue
			}
			below, _ := linux.Descendants(l.id.PID) // an error: it has ended
			// Itself first: the end of its child might be taken for success.
			l.signalSelf(SIGKILL)
			for _, st := range below {
				_ = linux.SignalProcess(st.PID, st.Start, syscall.SIGKILL) // ESRCH: it has ended
			}
		}
	}()
	return l.observe()
}

// isHeld tells whether a process or one that descends from it is stopped or
// traced. A parent waits for its child until that has come to its exec.
func isHeld(id ID) bool {
	st, err := linux.ReadStat("/proc", id.PID)
	if err != nil || st.Start != id.Birth {
		return false
	}
	below, _ := linux.Descendants(id.PID) // an error: it has ended
	return st.Stopped() || slices.ContainsFunc(below, linux.Stat.Stopped)
}

// runHelper gives the exit status.
func runHelper(role string, args []string) int {
	switch {
	case role == roleGuardianStart && len(args) == 2:
		return startGuardianDetached(args[0], args[1])
	case role == roleGuardian && len(args) == 2:
		return guard(args[0], args[1], forEver)
	case role == roleGuardianChild && len(args) == 2:
		return guard(args[0], args[1], childLife)
	case role == roleTrampoline:
		return jump()
	case role == roleKeeperStart:
		return startKeeperDetached()
	case role == roleKeeper:
		return runKeeper()
	case role == roleShim:
		return runShim()
	case role == roleInit:
		return runInit(linux.ContainerCapabilities)
	case role == roleUserInit:
		return runInit(0)
	case role == roleNothing:
		return 0
	}
	return 2
}
