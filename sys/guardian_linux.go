package sys

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// armLimit is how long one may take to be armed before another is tried: a job
// may have stopped it.
const armLimit = 10 * time.Second

// guardian is the supervisor's side of the helper that ends all trees when the
// supervisor is killed. One is kept alive; another follows one that died.
type guardian struct {
	lives
	// start starts one and gives it as a child of ours, or nil if it is none.
	start func(control, status *os.File, self int) (*guardianChild, error)
	hasty bool // nobody waits for its end

	mu        sync.Mutex
	armed     bool
	self      kin             // the live guardian, while armed
	watch     *linux.Pollable // its pidfd, nil before the first is armed and after each
	stat      *linux.HeldStat // nil when watch is
	handsOn   bool            // its end is not that of the watch
	onItsWay  chan struct{}   // closed once the first one's process is there
	beginning sync.Once
	control   *os.File // our end; see dismissed
	child     *guardianChild
	err       error // why the last one did not start
}

func newGuardian(start func(control, status *os.File, self int) (*guardianChild, error)) *guardian {
	return &guardian{lives: newLives(), start: start, onItsWay: make(chan struct{})}
}

// prepare starts the guardian in the background, once.
func (g *guardian) prepare() { g.begin(g.life, func(err error) { g.decide(kin{}, err) }) }

// begins tells that the first guardian's process is there.
func (g *guardian) begins() { g.beginning.Do(func() { close(g.onItsWay) }) }

// awaitBegin prepares and waits until a guardian is on its way to be armed. It
// acts on what happened before it was.
func (g *guardian) awaitBegin(ctx context.Context) {
	g.prepare()
	timer := time.NewTimer(guardianLimit)
	defer timer.Stop()
	select {
	case <-g.onItsWay:
	case <-g.tried:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// await prepares and waits until the guardian is armed, could not start, or is
// too slow: what is started then has less of a guarantee until it is armed.
func (g *guardian) await(ctx context.Context) {
	g.prepare()
	g.awaitTried(ctx, guardianLimit)
}

// errStopped: a job of the same user may stop the guardian, which then does
// nothing until somebody continues it.
var errStopped = errors.New("the guardian is stopped (SIGSTOP); SIGCONT lets it watch again")

var errGuardianEnded = errors.New("the guardian has just ended")

// isArmed tells whether a live guardian watches now, and else why not.
func (g *guardian) isArmed() (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.armed {
		return false, g.err
	}
	var st linux.Stat
	over := true
	if g.stat != nil {
		var err error
		st, err = g.stat.Read() // of one that was reaped there is none
		over = err != nil || st.Dead()
	}
	switch {
	case over && !g.handsOn:
		return false, errGuardianEnded
	case !over && st.Stopped():
		return false, errStopped
	}
	return true, nil
}

// unstop lets a guardian go on that was stopped or is traced, by a job for
// example: nobody else would once we are gone. One without work is killed.
func (g *guardian) unstop(idle bool) {
	if _, why := g.isArmed(); why != errStopped {
		return
	}
	g.mu.Lock()
	self := g.self
	g.mu.Unlock()
	sig := syscall.SIGCONT
	if idle {
		sig = syscall.SIGKILL
	}
	_ = linux.SignalProcess(self.pid, self.start, sig) // ESRCH: it has ended
}

// process gives the number of the live guardian, 0 when there is none.
func (g *guardian) process() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.armed {
		return 0
	}
	return g.self.pid
}

// decide tells who watches from now on, or with an error that nobody does.
func (g *guardian) decide(self kin, err error) {
	g.mu.Lock()
	g.armed, g.self, g.err = err == nil, self, err
	g.mu.Unlock()
	g.lives.decide()
}

// life is that of one guardian, from its start to its end.
func (g *guardian) life() error {
	controlR, controlW, statusR, statusW, err := twoPipes()
	if err != nil {
		return err
	}
	defer statusR.Close()
	var child *guardianChild
	self, err := linux.SelfPidfd()
	if err == nil {
		child, err = g.start(controlR, statusW, self)
		linux.CloseFD(self)
	}
	controlR.Close()
	statusW.Close()
	if err != nil {
		dismiss(controlW) // it may have been started all the same
		return err
	}
	if !g.hold(controlW, child) {
		return os.ErrClosed
	}
	defer g.drop()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.unwatch()
	}()
	_ = statusR.SetReadDeadline(time.Now().Add(armLimit)) // a pipe of ours has deadlines
	handsOn := g.hasty                                    // the first one
	for ended := "the guardian did not start: "; ; ended, handsOn = "the guardian ended: ", false {
		var word [1 + guardPID]byte
		if _, err := io.ReadFull(statusR, word[:]); err != nil { // the pipe's end is theirs
			return errors.New(ended + err.Error())
		}
		st, err := linux.ReadStat("/proc", int(binary.LittleEndian.Uint32(word[1:])))
		if err != nil {
			return errors.New("the guardian ended at once: " + err.Error())
		}
		if err := g.arm(kinOf(st), handsOn, statusR); err != nil {
			return errors.New("the guardian ended at once: " + err.Error())
		}
	}
}

// arm tells that a guardian watches, and sees to it that its end is noticed, even
// where a stranger holds a copy of the pipe that would tell it. One that hands on
// ends when it has started another, which tells of itself on the same pipe.
func (g *guardian) arm(self kin, handsOn bool, status *os.File) error {
	fd, err := linux.OpenProcess(self.pid, self.start)
	if err != nil {
		return err
	}
	watch, err := linux.NewPollable(fd, "pidfd of the guardian")
	if err != nil {
		return err
	}
	stat, err := linux.HoldStat(self.pid, self.start)
	if err != nil {
		watch.Close()
		return err
	}
	g.mu.Lock()
	g.unwatch()
	g.watch, g.stat, g.handsOn = watch, stat, handsOn
	g.mu.Unlock()
	g.decide(self, nil)
	_ = status.SetReadDeadline(time.Time{})
	next := time.Duration(0)
	if handsOn {
		next = armLimit
	}
	go func() {
		if watch.Wait(linux.PidfdExited) != nil {
			return // there is another, or none is needed
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.watch == watch {
			_ = status.SetReadDeadline(time.Now().Add(next))
		}
	}()
	return nil
}

// unwatch ends the watch of the last guardian. It is called with mu held.
func (g *guardian) unwatch() {
	if g.watch != nil {
		g.watch.Close()
		g.stat.Close()
		g.watch, g.stat = nil, nil
	}
}

// hold keeps the control pipe's end; false when the host was closed meanwhile.
func (g *guardian) hold(control *os.File, child *guardianChild) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped() {
		dismiss(control)
		child.kill()
		return false
	}
	g.control, g.child = control, child
	return true
}

// drop dismisses the guardian: without the byte the end of the pipe would mean
// our death.
func (g *guardian) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.control != nil {
		dismiss(g.control)
		g.control = nil
	}
}

func dismiss(control *os.File) {
	_, _ = control.Write([]byte{dismissed}) // fails when the guardian is gone
	control.Close()
}

// close lets the guardian go and waits for its end, or, when work is left for
// it, tells it by the end of the pipe alone to do that, and does not wait.
func (g *guardian) close(nothingLeft bool) {
	begun := g.begun()
	g.mu.Lock()
	close(g.stop)
	if !nothingLeft && g.control != nil {
		g.control.Close()
		g.control = nil
	}
	g.mu.Unlock()
	g.unstop(nothingLeft)
	if !nothingLeft {
		return
	}
	if begun {
		g.drop()
	}
	if g.hasty {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.child.kill() // it may not have come so far as to be let go
		return
	}
	g.awaitDone()
}
