package sys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/darwin"
)

// guardian is the supervisor's side of the helper that ends all groups when the
// supervisor is killed. One is kept alive; another follows one that died and is
// told all groups anew.
type guardian struct {
	lives
	exe  string
	self ID

	mu      sync.Mutex
	armed   bool
	err     error          // why the last one did not start
	control *os.File       // orders go here; its end ends the guardian
	status  *os.File       // its end tells the guardian's
	groups  map[int]uint64 // group to the leader's start
}

func newGuardian(exe string, self ID) *guardian {
	return &guardian{lives: newLives(), exe: exe, self: self, groups: make(map[int]uint64)}
}

// prepare starts the guardian in the background, once.
func (g *guardian) prepare() { g.begin(g.life, func(err error) { g.decide(false, err) }) }

// await prepares and waits until the guardian is armed or could not start, at
// most twice guardianLimit.
func (g *guardian) await(ctx context.Context) {
	g.prepare()
	g.awaitTried(ctx, 2*guardianLimit)
}

// isArmed tells whether a live guardian watches now, and else why not.
func (g *guardian) isArmed() (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.armed, g.err
}

// add has a group ended when this process is killed, by this guardian if it is
// armed, else by one that comes later.
func (g *guardian) add(leader ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups[leader.PID] = leader.Birth
	g.tell(order{add: true, pgid: leader.PID, start: leader.Birth})
}

// remove takes a group back that was proved empty.
func (g *guardian) remove(leader ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.groups, leader.PID)
	g.tell(order{pgid: leader.PID, start: leader.Birth})
}

// tell sends an order to an armed guardian. One that does not take it is let
// go, and another takes its place.
func (g *guardian) tell(o order) {
	if !g.armed || g.control == nil {
		return
	}
	err := g.control.SetWriteDeadline(time.Now().Add(guardianLimit))
	if err == nil {
		_, err = io.WriteString(g.control, o.String())
	}
	if err != nil {
		g.armed, g.err = false, fmt.Errorf("the guardian takes no orders: %w", err)
		// Ends its life as we see it. Best effort: a pipe of ours takes deadlines.
		_ = g.status.SetReadDeadline(time.Now())
	}
}

func (g *guardian) decide(armed bool, err error) {
	g.mu.Lock()
	g.armed, g.err = armed, err
	if armed {
		for pgid, start := range g.groups {
			g.tell(order{add: true, pgid: pgid, start: start})
		}
	}
	g.mu.Unlock()
	g.lives.decide()
}

// life is that of one guardian, from its start to its end.
func (g *guardian) life() error {
	if !initCalled.Load() {
		return errInitNotCalled
	}
	controlR, controlW, statusR, statusW, err := twoPipes()
	if err != nil {
		return err
	}
	defer statusR.Close()
	err = g.launch(controlR, statusW)
	controlR.Close()
	statusW.Close()
	if err != nil {
		controlW.Close()
		return fmt.Errorf("start the guardian: %w", err)
	}
	if !g.hold(controlW, statusR) {
		return os.ErrClosed
	}
	defer g.drop()
	if err := statusR.SetReadDeadline(time.Now().Add(guardianLimit)); err != nil {
		return err
	}
	var word [1]byte
	if _, err := io.ReadFull(statusR, word[:]); err != nil {
		return fmt.Errorf("the guardian did not start: %w", err)
	}
	// Before an order can fail, which sets another deadline.
	if err := statusR.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	g.decide(true, nil)
	if _, err := statusR.Read(word[:]); errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the guardian takes no orders")
	}
	return errors.New("the guardian ended")
}

// launch starts the process that starts the guardian, and waits for its end.
func (g *guardian) launch(control, status *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	n := null.Fd()
	pid, err := syscall.ForkExec(g.exe, []string{helperName, roleGuardianStart,
		g.exe, strconv.Itoa(g.self.PID), strconv.FormatUint(g.self.Birth, 10)},
		&syscall.ProcAttr{Dir: "/", Env: os.Environ(), Files: []uintptr{n, n, n, control.Fd(), status.Fd()},
			Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return err
	}
	r, err := darwin.Reap(pid)
	if err == nil && !(r.Status.Exited() && r.Status.ExitStatus() == 0) {
		err = fmt.Errorf("its starter ended with status %#x", int(r.Status))
	}
	return err
}

// hold keeps our ends of the pipes; false when the host was closed meanwhile.
func (g *guardian) hold(control, status *os.File) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped() {
		control.Close()
		return false
	}
	g.control, g.status = control, status
	return true
}

func (g *guardian) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.control != nil {
		g.control.Close()
		g.control = nil
	}
}

// close lets the guardian go and waits for its end.
func (g *guardian) close() {
	begun := g.begun()
	g.mu.Lock()
	close(g.stop)
	g.mu.Unlock()
	if begun {
		g.drop()
	}
	g.awaitDone()
}
