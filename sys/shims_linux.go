package sys

import (
	"context"
	"sync"
	"syscall"
	"time"
)

// shims gives out shims, each for one tree, and keeps a warm one ready: a
// helper takes longer to start than a job.
type shims struct {
	host *linuxHost

	starting sync.Mutex // one keeper at a time
	keeper   *keeperLink

	mu     sync.Mutex
	next   *pendingShim // ready or on its way; nil when none was asked for
	closed bool
	making sync.WaitGroup
}

type pendingShim struct {
	done chan struct{}
	shim *shimLink
	err  error
}

// prepare has a shim made in the background, unless one is there.
func (s *shims) prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil && !s.closed {
		s.next = s.makeLocked()
	}
}

// refillPause is how long a new shim waits for the job that took the last one:
// short jobs are over by then, and do not share the processor with its start.
const refillPause = 10 * time.Millisecond

// prepareSoon is prepare in a moment.
func (s *shims) prepareSoon() { time.AfterFunc(refillPause, s.prepare) }

func (s *shims) makeLocked() *pendingShim {
	p := &pendingShim{done: make(chan struct{})}
	s.making.Go(func() {
		defer close(p.done)
		p.shim, p.err = s.make()
	})
	return p
}

// make starts a shim, and a keeper if there is none.
func (s *shims) make() (*shimLink, error) {
	for tries := 0; ; tries++ {
		k, err := s.liveKeeper()
		if err != nil {
			return nil, err
		}
		k.wake() // a job may have stopped it
		c, err := k.shim()
		if err == nil || tries > 0 || !s.isGivenUp(k) {
			return c, err
		}
	}
}

// liveKeeper gives the keeper. One that ended is followed by another.
func (s *shims) liveKeeper() (*keeperLink, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.keeper != nil && s.keeper.gone() {
		s.keeper.close()
		s.keeper = nil
	}
	if s.keeper == nil {
		k, err := s.host.startKeeper()
		if err != nil {
			return nil, err
		}
		s.keeper = k
	}
	return s.keeper, nil
}

// isGivenUp tells whether a keeper that did not do its work is to be followed by
// another. One that a job keeps stopping, or traces, is ended; its shims live on.
func (s *shims) isGivenUp(k *keeperLink) bool {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.keeper == k && (k.stopped() || k.gone()) {
		s.keeper = nil
		k.signal(syscall.SIGKILL)
		k.close()
	}
	return s.keeper != k
}

// keeperProcess gives the number of the keeper, 0 when there is none.
func (s *shims) keeperProcess() int {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.keeper == nil {
		return 0
	}
	return s.keeper.id.PID
}

// takeTries bounds how many shims are tried for a job.
const takeTries = 4

// take gives a shim that lives and is not stopped, the warm one if there is one.
func (s *shims) take(ctx context.Context) (*shimLink, error) {
	for tries := 0; ; tries++ {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil, errHostClosed
		}
		p := s.next
		if p == nil {
			p = s.makeLocked()
		}
		s.next = nil
		s.mu.Unlock()
		select {
		case <-p.done:
		case <-ctx.Done():
			s.giveBack(p)
			return nil, ctx.Err()
		}
		switch {
		case p.err != nil && tries > 0:
			return nil, p.err
		case p.err != nil:
		case !p.shim.gone() && !p.shim.stopped():
			return p.shim, nil
		default:
			p.shim.signal(syscall.SIGKILL) // it holds nothing yet
			p.shim.free()
			if tries >= takeTries {
				return nil, errHelperStopped
			}
		}
	}
}

// giveBack keeps one that its caller did not wait for.
func (s *shims) giveBack(p *pendingShim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil && !s.closed {
		s.next = p
		return
	}
	s.making.Go(func() { p.drop() })
}

func (p *pendingShim) drop() {
	<-p.done
	if p.err == nil {
		p.shim.free()
	}
}

// close ends the warm shim and the keeper. Every tree has been ended before.
func (s *shims) close() {
	s.mu.Lock()
	s.closed = true
	p := s.next
	s.next = nil
	s.mu.Unlock()
	if p != nil {
		p.drop()
	}
	s.making.Wait()
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.keeper != nil {
		s.keeper.dismiss()
		s.keeper = nil
	}
}
