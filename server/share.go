package server

import (
	"fmt"
	"sync/atomic"

	"github.com/belfry-dev/belfry/server/wire"
)

// share bounds what one connection may watch at once, each task and resource
// counted once for every listen or subscription.
type share struct{ tasks, resources allowance }

// The bounds. A resource costs more to watch.
const (
	maxTasksWatched     = 100_000
	maxResourcesWatched = 1024
)

type shareKey struct{}

func shareOf(c *wire.Conn) *share {
	return c.Value(shareKey{}, func() any {
		s := &share{}
		s.tasks.most, s.resources.most = maxTasksWatched, maxResourcesWatched
		return s
	}).(*share)
}

// allowance is a number of things that can be taken and given back.
type allowance struct {
	most  int64
	taken atomic.Int64
}

func (a *allowance) take() bool {
	if a.taken.Add(1) > a.most {
		a.taken.Add(-1)
		return false
	}
	return true
}

func (a *allowance) give() { a.taken.Add(-1) }

func tooMany(what string, most int64) *wire.Error {
	return &wire.Error{Code: wire.CodeTooMany,
		Message: fmt.Sprintf("this connection watches too many %s (at most %d); end a subscription", what, most)}
}
