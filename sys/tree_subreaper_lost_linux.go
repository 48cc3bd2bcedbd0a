package sys

import (
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

const (
	// wakePause is the first pause before a shim that does not tell what can be
	// seen is looked at.
	wakePause = 50 * time.Millisecond
	// wakeTries is after how many looks a shim that its job keeps stopping is
	// killed: the keeper then ends the tree.
	wakeTries = 4
)

// attend sees the leader's end by itself. A shim that does not tell of it has
// been stopped, by its job for example.
func (t *shimTree) attend() {
	select {
	case <-t.exited:
		return
	default:
	}
	if t.pidfd.Wait(linux.PidfdExited) != nil {
		t.shim.sock.Close() // the host gave up
		return
	}
	for tries, pause := 0, wakePause; ; pause *= 2 {
		timer := time.NewTimer(pause)
		select {
		case <-t.exited:
			timer.Stop()
			return
		case <-t.done:
			timer.Stop()
			return
		case <-timer.C:
			tries = t.wake(tries)
		}
	}
}

// wake continues a stopped shim, kills one that was stopped too often, and hears
// of its end.
func (t *shimTree) wake(tries int) int {
	t.shim.noteEnd()
	if t.lost.Load() || !t.shim.stopped() {
		return 0
	}
	t.shim.signal(syscall.SIGCONT)
	if tries++; tries >= wakeTries {
		t.shim.signal(syscall.SIGKILL)
	}
	return tries
}

// outliveShim ends what a killed shim has left: the leader, which has the death
// signal too, what group and ancestry show, and, by the keeper's word, all.
func (t *shimTree) outliveShim() {
	t.lost.Store(true)
	t.shim.signal(syscall.SIGKILL) // it may have closed its socket alone
	t.signalSelf(SIGKILL)
	if !t.ended() {
		if t.pidfd.Wait(linux.PidfdExited) != nil {
			return // the host was closed
		}
		t.conclude(t.lastWord())
		close(t.exited)
	}
	if proof := t.endOrphans(); proof != ProofNone {
		t.total = t.used
		t.prove(proof)
	}
}

// lastWord is how a leader ended whose parent is gone: the kernel's own record
// where it keeps one (6.15), else that of our SIGKILL.
func (t *shimTree) lastWord() linux.Exit {
	e := linux.Exit{Signal: syscall.SIGKILL, Usage: linux.Rusage{CPU: -1, MaxRSS: -1, Read: -1, Written: -1}}
	_ = t.pidfd.Use(func(fd int) {
		if known, ok := linux.PidfdExit(fd); ok {
			e.Code, e.Signal, e.Core = known.Code, known.Signal, known.Core
		}
	})
	return e
}

// endOrphans returns when nothing of the tree is left, and says by what proof: the
// keeper's word, or two looks that found nobody. ProofNone: the tree was released.
func (t *shimTree) endOrphans() Proof {
	keeper := t.shim.keeper.ended
	for clean, pause := 0, 5*time.Millisecond; !t.isReleased(); pause = min(2*pause, time.Second) {
		_, _ = t.sendFamily(SIGKILL) // Best effort: looked at again below.
		t.shim.keeper.wake()
		timer := time.NewTimer(pause)
		select {
		case <-t.shim.peeled:
			timer.Stop()
			return t.held.proof
		case <-keeper:
			keeper = nil
		case <-timer.C:
		}
		timer.Stop()
		if keeper != nil {
			continue // its word is worth more than a look
		}
		left, err := t.scan()
		if clean++; err != nil || len(left) > 0 {
			clean = 0
		}
		if clean == 2 {
			return ProofGroupScan
		}
	}
	return ProofNone
}
