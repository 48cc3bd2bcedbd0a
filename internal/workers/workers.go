package workers

import (
	"context"
	"sync/atomic"
)

// Pool runs functions, each on a goroutine of its own. A goroutine that is done
// waits for another function: its stack has grown to what such functions need, which
// a new one spends a third of a short call on (Go 1.26).
type Pool struct {
	next chan func()
	most int32
	idle atomic.Int32
}

// New makes a pool of which at most so many goroutines wait.
func New(most int) *Pool { return &Pool{next: make(chan func()), most: int32(most)} }

// Do runs a function and does not wait for it, nor for a goroutine. One that waits
// for its next function leaves when the ctx of its first one ends.
func (p *Pool) Do(ctx context.Context, run func()) {
	select {
	case p.next <- run:
	default:
		go p.work(ctx, run)
	}
}

func (p *Pool) work(ctx context.Context, run func()) {
	for {
		run()
		if p.idle.Add(1) > p.most {
			p.idle.Add(-1)
			return
		}
		select {
		case run = <-p.next:
			p.idle.Add(-1)
		case <-ctx.Done():
			p.idle.Add(-1)
			return
		}
	}
}
