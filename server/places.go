package server

import (
	"context"
	"sync"

	"github.com/belfry-dev/belfry/server/wire"
)

// How many follows may wait: so many for one connection, so that no client
// starves another, and so many for all of them.
const (
	maxWaiting        = 128
	maxWaitingProcess = 1024
)

// places are a bounded number of places to wait at.
type places struct {
	most int

	mu    sync.Mutex
	taken map[*place]struct{}
}

// place is one taken place. It is free again when its call has ended, whether
// or not the goroutine that serves the call has got round to leaving it: a
// cancel must be as good as its word to the request behind it.
type place struct{ call context.Context }

// take takes a place for a call if there is one.
func (p *places) take(pl *place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.taken) >= p.most {
		for other := range p.taken {
			if other.call.Err() != nil {
				delete(p.taken, other)
			}
		}
	}
	if len(p.taken) >= p.most {
		return false
	}
	if p.taken == nil {
		p.taken = map[*place]struct{}{}
	}
	p.taken[pl] = struct{}{}
	return true
}

func (p *places) leave(pl *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, pl)
}

type placesKey struct{}

// wait takes a place on the connection and in the process, or says which of
// them has none.
func (s *Server) wait(ctx context.Context, c *wire.Call) (leave func(), no *wire.Result) {
	mine := c.Conn.Value(placesKey{}, func() any { return &places{most: maxWaiting} }).(*places)
	pl := &place{ctx}
	if !mine.take(pl) {
		res := fail("follow", "%d follows of this connection are waiting already, which is the most; "+
			"let one return or cancel it, or read without waiting (output, status)", mine.most)
		return nil, &res
	}
	if !s.waiting.take(pl) {
		mine.leave(pl)
		res := fail("follow", "%d follows of all connections are waiting already, which is the most; "+
			"try again later, or read without waiting (output, status)", s.waiting.most)
		return nil, &res
	}
	c.Waits()
	return func() { s.waiting.leave(pl); mine.leave(pl) }, nil
}
