package sys

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// keeperLink is the supervisor's side of a keeper.
type keeperLink struct {
	*link
	ended chan struct{} // closed with the keeper's end

	mu     sync.Mutex
	serial int64
	waits  map[int64]chan struct{} // by the serial of a shim; closed: its tree is gone
}

// startKeeper starts a keeper and waits until it is ready.
func (h *linuxHost) startKeeper() (*keeperLink, error) {
	if !initCalled.Load() {
		return nil, errInitNotCalled
	}
	l, theirs, err := newLink("keeper")
	if err != nil {
		return nil, err
	}
	self, err := linux.SelfPidfd()
	if err == nil {
		err = h.runHelper(nil, []uintptr{uintptr(theirs), uintptr(self), uintptr(linux.ProcDir())}, nil, roleKeeperStart)
		linux.CloseFD(self)
	}
	linux.CloseFD(theirs)
	if err == nil {
		err = l.greet(helperLimit)
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	k := &keeperLink{link: l, ended: make(chan struct{}), waits: map[int64]chan struct{}{}}
	go k.listen()
	return k, nil
}

// helperLimit bounds how long a start waits for a helper to be ready.
const helperLimit = 2 * time.Second

// over tells whether the keeper has ended.
func (k *keeperLink) over() bool {
	select {
	case <-k.ended:
		return true
	default:
		return false
	}
}

// listen hears of trees of lost shims that are gone.
func (k *keeperLink) listen() {
	defer close(k.ended)
	for {
		w, files, err := k.receive()
		if err != nil {
			return
		}
		closeAll(files)
		if w.kind == wordPeeled {
			k.mu.Lock()
			if ch := k.waits[w.arg(0)]; ch != nil {
				close(ch)
				delete(k.waits, w.arg(0))
			}
			k.mu.Unlock()
		}
	}
}

// shimLink is the supervisor's side of a shim.
type shimLink struct {
	*link
	keeper *keeperLink
	serial int64
	peeled <-chan struct{} // closed once the keeper has ended what a lost shim left
}

// shim has the keeper start a shim and waits until it is ready.
func (k *keeperLink) shim() (*shimLink, error) {
	l, theirs, err := newLink("shim")
	if err != nil {
		return nil, err
	}
	peeled := make(chan struct{})
	k.mu.Lock()
	k.serial++
	s := &shimLink{link: l, keeper: k, serial: k.serial, peeled: peeled}
	k.waits[s.serial] = peeled
	k.mu.Unlock()
	err = k.send(word{kind: wordShim, args: []int64{s.serial}}, theirs)
	linux.CloseFD(theirs)
	if err == nil {
		err = l.greet(helperLimit)
	}
	if err != nil {
		s.free()
		return nil, fmt.Errorf("start a shim: %w", err)
	}
	return s, nil
}

// free forgets a shim, which ends what it holds and itself.
func (s *shimLink) free() {
	s.close()
	s.keeper.mu.Lock()
	delete(s.keeper.waits, s.serial)
	s.keeper.mu.Unlock()
}

// dismiss lets the keeper go, which ends after its shims, and waits for that.
func (k *keeperLink) dismiss() {
	_ = k.sock.Use(linux.HangUp)
	k.wake() // a job may have stopped it
	timer := time.NewTimer(helperLimit)
	defer timer.Stop()
	select {
	case <-k.ended:
	case <-timer.C:
	}
	k.close()
	<-k.ended
}

// wake continues a keeper that a job has stopped, and hears of its end.
func (k *keeperLink) wake() {
	k.signal(syscall.SIGCONT)
	k.noteEnd()
}
