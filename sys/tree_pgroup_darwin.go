package sys

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/darwin"
)

// groupTree holds a leader's process group, and what ancestry finds besides.
//
// The leader's end is observed through kqueue, which does not reap it. Its
// zombie is held until the group was proved empty, so that the number names
// nobody else; until then a program that watches it with kill(pid, 0) does not
// see it go.
type groupTree struct {
	emptiness
	host *darwinHost
	id   ID

	note   chan darwin.ExitNote // holds one
	bell   chan struct{}        // a member ended; holds one
	exited chan struct{}
	exit   Exit          // valid once exited is closed
	given  chan struct{} // closed by Release
	done   chan struct{} // run has ended
	once   sync.Once

	mu     sync.Mutex
	reaped bool // the number may mean somebody else
	used   Usage

	scanMu sync.Mutex
	known  map[int]uint64      // live members of the last scan, by start
	unique map[uint64]struct{} // members ever seen, which children name as their parent
}

func newGroupTree(h *darwinHost, id ID) *groupTree {
	t := &groupTree{host: h, id: id,
		note: make(chan darwin.ExitNote, 1), bell: make(chan struct{}, 1),
		exited: make(chan struct{}), emptiness: newEmptiness(),
		given: make(chan struct{}), done: make(chan struct{}),
		unique: make(map[uint64]struct{}),
	}
	t.used = noUsage
	if id.Unique != 0 {
		t.unique[id.Unique] = struct{}{}
	}
	return t
}

var noUsage = Usage{CPU: -1, PeakMemory: -1, IORead: -1, IOWrite: -1, PeakProcesses: -1}

// watch has the leader's end reported.
func (t *groupTree) watch() error {
	gone, err := t.host.watcher.Exit(t.id.PID, func(n darwin.ExitNote) { t.note <- n })
	if gone {
		t.note <- darwin.ExitNote{}
	}
	return err
}

// run is the tree's owner: it observes the leader's end, waits until no member
// is left and reaps when the tree is given back.
func (t *groupTree) run() {
	defer close(t.done)
	select {
	case n := <-t.note:
		t.observe(n)
	case <-t.host.closing:
		return
	}
	close(t.exited)
	if t.outlast() {
		t.prove(ProofGroupScan)
	}
	select {
	case <-t.given:
		t.reap()
	case <-t.host.closing:
	}
	t.host.forget(t)
}

// observe takes status and usage of the ended, unreaped leader.
func (t *groupTree) observe(n darwin.ExitNote) {
	at := time.Now()
	t.measure()
	if !n.Known {
		n = t.statusOfZombie()
	}
	ws := syscall.WaitStatus(n.WaitStatus)
	if !n.Known {
		// The status is worth more than the number: reaped now, its family by
		// identity remembered before. Best effort.
		_, _ = t.scan()
		ws = t.reap()
	}
	t.exit = Exit{At: at}
	if ws.Signaled() {
		t.exit.Signal, t.exit.Core = Signal(ws.Signal()), ws.CoreDump()
	} else {
		t.exit.Code = ws.ExitStatus()
	}
}

// statusOfZombie reads the status of a leader that ended before it was watched
// from its record, as soon as it is a zombie: there is no note of that moment.
func (t *groupTree) statusOfZombie() darwin.ExitNote {
	for range 100 {
		k, err := darwin.ReadKinfo(t.id.PID)
		if err != nil || k.Start != t.id.Birth {
			break
		}
		if k.State == darwin.Zombie {
			status, known := k.Ended()
			return darwin.ExitNote{WaitStatus: status, Known: known}
		}
		time.Sleep(time.Millisecond)
	}
	return darwin.ExitNote{}
}

// reap collects the leader, once, and gives its status.
func (t *groupTree) reap() syscall.WaitStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return 0
	}
	t.reaped = true
	r, err := darwin.Reap(t.id.PID)
	if err != nil {
		return 0
	}
	if t.used.CPU < 0 {
		t.used.CPU = r.CPU
	}
	if t.used.PeakMemory < 0 {
		t.used.PeakMemory = r.MaxRSS
	}
	return syscall.WaitStatus(r.Status)
}

// outlast waits for ends of members until none is left. False: the tree was
// given back before.
func (t *groupTree) outlast() bool {
	watched := make(map[int]uint64)
	clean, lost := 0, false
	pause := time.Millisecond
	for {
		select {
		case <-t.given:
			return false
		case <-t.host.closing:
			return false
		default:
		}
		members, err := t.scan()
		if err == nil && len(members) == 0 {
			// A table is not read in one moment: a second look.
			if clean++; clean == 2 {
				return true
			}
			continue
		}
		clean = 0
		fresh := false
		for _, m := range members {
			if watched[m.pid] == m.start {
				continue
			}
			watched[m.pid], fresh = m.start, true
			gone, werr := t.host.watcher.Exit(m.pid, func(darwin.ExitNote) { t.ring() })
			lost = lost || gone || werr != nil
		}
		if fresh {
			// A number may have been somebody else's when it was watched: only a
			// member that is still listed now will ring.
			continue
		}
		// One that was ending when it was watched does not ring, so it is looked
		// for again, ever more patiently.
		var retry <-chan time.Time
		if lost || err != nil {
			retry = time.After(pause)
			pause = min(2*pause, time.Second)
		}
		select {
		case <-t.bell:
		case <-retry:
		case <-t.given:
		case <-t.host.closing:
		}
	}
}

func (t *groupTree) ring() {
	select {
	case t.bell <- struct{}{}:
	default:
	}
}

// Kill repeats until nobody is found: what a member started meanwhile, outside
// the group, is met by the next round.
func (t *groupTree) Kill(ctx context.Context) (KillReport, error) {
	begin := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 64*time.Millisecond) {
		if t.Proof() != ProofNone {
			return KillReport{Proof: ProofGroupScan, Took: time.Since(begin)}, nil
		}
		_, err := t.send(SIGKILL)
		timer := time.NewTimer(pause)
		select {
		case <-t.empty:
		case <-t.given:
			timer.Stop()
			return KillReport{Took: time.Since(begin)}, os.ErrClosed
		case <-ctx.Done():
			timer.Stop()
			left, _ := t.Members()
			if err == nil {
				err = ctx.Err()
			}
			return KillReport{Survivors: left, Took: time.Since(begin)}, err
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Release reaps the leader if it has ended. One that still lives is given up:
// it is reaped when it ends.
func (t *groupTree) Release() error {
	t.once.Do(func() { close(t.given) })
	if t.ended() {
		<-t.done
	}
	return nil
}
