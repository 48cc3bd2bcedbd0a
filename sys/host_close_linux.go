package sys

import (
	"errors"
	"maps"
	"slices"
	"time"
)

func (h *linuxHost) forget(l *leader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.trees[l]; !there {
		return
	}
	delete(h.trees, l)
	if h.closed && len(h.trees) == 0 {
		close(h.idle)
	}
}

// closeLimit bounds the wait for what still runs when the host closes.
const closeLimit = 2 * time.Second

// Close ends the helpers and removes the containers.
func (h *linuxHost) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	h.idle = make(chan struct{})
	left := slices.Collect(maps.Keys(h.trees))
	h.mu.Unlock()
	h.sweeper.stop()
	if h.dropAll(left); len(left) > 0 {
		endMarked(h.marks.base)
	}
	h.rungMu.Lock()
	r := h.cgroup
	h.tried, h.cgroup, h.reason = true, nil, errHostClosed
	h.rungMu.Unlock()
	var err error
	if r != nil {
		err = r.close()
	}
	err = errors.Join(err, h.limiter.close())
	h.shims.close()
	h.spawn.close()
	return err
}

// dropAll ends what is still there and waits until it was reaped. What the
// kernel cannot end now is left to it.
func (h *linuxHost) dropAll(left []*leader) {
	if len(left) == 0 {
		return
	}
	for _, l := range left {
		l.drop()
	}
	timer := time.NewTimer(closeLimit)
	defer timer.Stop()
	select {
	case <-h.idle:
	case <-timer.C:
		for _, l := range left {
			l.pidfd.Close()
		}
	}
}
