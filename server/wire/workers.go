package wire

import (
	"context"
	"sync/atomic"
)

// maxIdle is how many goroutines of a connection wait for their next request.
const maxIdle = 32

// workers run requests, each on a goroutine of its own. A goroutine that is
// done waits for another request: its stack has grown to what handlers need,
// which a new one spends a third of a short call on (Go 1.26).
type workers struct {
	next chan func()
	idle atomic.Int32
}

// do runs one request. Idle goroutines leave when ctx ends.
func (w *workers) do(ctx context.Context, run func()) {
	select {
	case w.next <- run:
	default:
		go w.work(ctx, run)
	}
}

func (w *workers) work(ctx context.Context, run func()) {
	for {
		run()
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case run = <-w.next:
			w.idle.Add(-1)
		case <-ctx.Done():
			return
		}
	}
}
