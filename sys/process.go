package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrNoProcess: the process has ended, or its number names another one now.
var ErrNoProcess = errors.New("no such process")

// Identify reads the identity of a live process. One that has ended, a zombie
// included, is ErrNoProcess.
func Identify(pid int) (ID, error) {
	if pid <= 0 {
		return ID{}, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	}
	id, err := identifyLive(pid)
	if err != nil {
		return ID{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return id, nil
}

// Alive reports whether the very process that id names still runs: Yes, No, or
// Unknown where its identity does not suffice to tell.
func (a ID) Alive() Match {
	now, err := Identify(a.PID)
	switch {
	case errors.Is(err, ErrNoProcess):
		return No
	case err != nil:
		return Unknown
	}
	return a.Same(now)
}

// endPoll is how often EndProcess looks again: only a parent is told of the end
// of a process on every system.
const endPoll = 2 * time.Millisecond

// EndProcess ends the process that id names by force, with its descendants, and
// returns once none of them is left or ctx ends. Each is signalled by its
// identity: a process that has a number by accident is never touched. When id's
// own process is gone already, or is not provably the one that was meant, the
// error is ErrNoProcess and nothing is done. Descendants that lost their parent
// before the call are found on Linux alone, and there by their session, where
// id's process leads one.
func EndProcess(ctx context.Context, id ID) error {
	if id.Alive() != Yes {
		return fmt.Errorf("end process %d: %w", id.PID, ErrNoProcess)
	}
	return endTree(ctx, id)
}

// endTree ends root and all that descends from it, whether or not root itself
// still runs.
func endTree(ctx context.Context, root ID) error {
	known := map[int]ID{root.PID: root}
	tick := time.NewTicker(endPoll)
	defer tick.Stop()
	for {
		if err := grow(known, root); err != nil {
			return fmt.Errorf("end the tree of process %d: %w", root.PID, err)
		}
		left := 0
		for _, id := range known {
			if id.Alive() == Yes {
				left++
				// Best effort: one that ended meanwhile is what was wanted, and
				// one that may not be signalled is still there at the next look.
				_ = kill(id)
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("end the tree of process %d: %d processes are left: %w", root.PID, left, ctx.Err())
		}
	}
}

// grow adds to known the live processes that descend from one in it.
func grow(known map[int]ID, root ID) error {
	rows, err := relativesOf(root)
	if err != nil {
		return err
	}
	for more := true; more; {
		more = false
		for _, p := range rows {
			if _, there := known[p.ID.PID]; there {
				continue
			}
			parent, ours := known[p.PPID]
			if !p.session && (!ours || parent.Alive() != Yes) {
				continue
			}
			id, err := Identify(p.ID.PID)
			if err != nil || p.ID.Same(id) == No || id.Kind == root.Kind && id.Birth < root.Birth {
				continue // ended, or older than what it would descend from
			}
			known[id.PID] = id
			more = true
		}
	}
	return nil
}

// relative is a process that may belong to a tree.
type relative struct {
	Process
	session bool // in the session that root leads
}

// kill ends one process by force if it is still the one that id names.
func kill(id ID) error {
	// The reference is taken first: what it refers to is what the number meant
	// then, and id, which is older, is what it means afterwards.
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer p.Release()
	if id.Alive() != Yes {
		return ErrNoProcess
	}
	return p.Kill()
}
