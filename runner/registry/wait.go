package registry

import (
	"context"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// askAgain is how often is asked again what no event tells: whether a lock or a
// record that cannot be opened can be by now.
const askAgain = 250 * time.Millisecond

// WaitEnd returns when the run of an entry is over: nil when its lock was let
// go, which wakes at once and is the end of the runner however it died. An entry
// that cannot be probed is no end. The error is the context's.
func (e Entry) WaitEnd(ctx context.Context) error {
	for {
		h, gone := e.Now()
		if gone || h == Stale {
			return nil
		}
		var err error
		if h == Live {
			err = e.waitLock(ctx)
		} else {
			err = pause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// waitLock waits until the lock is free, or cannot be waited for. The wait
// itself cannot be given up: what the context ends is left behind with its
// thread until the run ends.
func (e Entry) waitLock(ctx context.Context) error {
	l, err := sys.OpenLock(e.lock)
	if err != nil {
		return nil // asked again
	}
	free := make(chan error, 1)
	go func() {
		defer l.Close()
		free <- l.WaitShared()
	}()
	select {
	case err := <-free:
		if err != nil {
			return pause(ctx)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WaitKnown reads the registry until every record in it can be read, and gives
// what it then holds.
func (r *Registry) WaitKnown(ctx context.Context) (Listing, error) {
	for {
		l, err := r.List()
		if err != nil || l.Unreadable == 0 {
			return l, err
		}
		if err := pause(ctx); err != nil {
			return l, err
		}
	}
}

func pause(ctx context.Context) error {
	t := time.NewTimer(askAgain)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
