//go:build linux || darwin

package sys

import (
	"context"
	"os"
	"sync"
	"time"
)

const (
	// guardianLimit bounds how long a guardian may take to be armed, to be told
	// something, and to end.
	guardianLimit = 2 * time.Second
	// Pauses between two guardians that died or did not start.
	guardianPause    = 100 * time.Millisecond
	guardianPauseMax = 30 * time.Second
)

// lives are those of one guardian after another: one is kept alive, and another
// follows one that died, the later the sooner that was.
type lives struct {
	once    sync.Once
	stop    chan struct{} // closed: none follows
	done    chan struct{} // closed with the last one
	tried   chan struct{} // closed once the first attempt was decided
	decided sync.Once
}

func newLives() lives {
	return lives{stop: make(chan struct{}), done: make(chan struct{}), tried: make(chan struct{})}
}

// begin starts the first in the background, once. life is that of one, from its
// start to its end, and over is told of each end.
func (l *lives) begin(life func() error, over func(error)) {
	l.once.Do(func() { go l.run(life, over) })
}

func (l *lives) run(life func() error, over func(error)) {
	defer close(l.done)
	for pause := guardianPause; ; {
		begin := time.Now()
		over(life())
		if time.Since(begin) > guardianPauseMax {
			pause = guardianPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-l.stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, guardianPauseMax)
	}
}

// decide tells that an attempt was decided, whichever way.
func (l *lives) decide() { l.decided.Do(func() { close(l.tried) }) }

// awaitTried waits until the first attempt was decided, for so long at most.
func (l *lives) awaitTried(ctx context.Context, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-l.tried:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// begun tells whether there is, or was, a first one. If not, there never is.
func (l *lives) begun() bool {
	begun := true
	l.once.Do(func() { begun = false; close(l.done) })
	return begun
}

// stopped tells whether none is wanted any more.
func (l *lives) stopped() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// awaitDone waits for the end of the last one.
func (l *lives) awaitDone() {
	timer := time.NewTimer(guardianLimit)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
	}
}

// twoPipes are what a guardian is told by, and what it tells by.
func twoPipes() (controlR, controlW, statusR, statusW *os.File, err error) {
	controlR, controlW, err = os.Pipe()
	if err != nil {
		return nil, nil, nil, nil, err
	}
	statusR, statusW, err = os.Pipe()
	if err != nil {
		controlR.Close()
		controlW.Close()
		return nil, nil, nil, nil, err
	}
	return controlR, controlW, statusR, statusW, nil
}
