package server

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

const resourceUpdated = "notifications/resources/updated"

// updates are the changes of one resource, from the moment of watchResource on.
type updates struct {
	res     resource
	after   uint64        // lines up to here are no news
	changed chan struct{} // the record has changed
	stop    func()
}

// watchResource begins to watch a resource. Its stop must be called.
func (s *Server) watchResource(res resource) *updates {
	u := &updates{res: res, changed: make(chan struct{}, 1)}
	u.stop = s.hub.watch(res.job.ID(), func() { signal(u.changed) })
	u.after = res.job.Head(res.sel)
	return u
}

// each calls emit for every window that has seen a change, and at once for the
// end of the job, until ctx ends or emit fails. The record changes with the
// job's state, the output with its lines and when it is dropped.
func (u *updates) each(ctx context.Context, emit func() error) {
	for u.wait(ctx) && window(ctx, u.res.job.Done()) {
		select {
		case <-u.changed:
		default:
		}
		u.after = max(u.after, u.res.job.Head(u.res.sel))
		if emit() != nil {
			return
		}
	}
}

// wait waits for the next change; false says that ctx has ended.
func (u *updates) wait(ctx context.Context) bool {
	if u.res.output && !over(u.res.job.Done()) {
		switch u.res.job.Follow(ctx, u.after, u.res.sel, 0) {
		case job.CauseCancelled:
			return false
		case job.CauseOutput:
			return true
		}
		if u.res.job.Head(u.res.sel) > u.after {
			return true
		}
	}
	select {
	case <-u.changed:
		return true
	case <-ctx.Done():
		return false
	}
}

// subscriptions are those of a connection of the legacy era, by URI.
type subscriptions struct {
	mu  sync.Mutex
	end map[string]context.CancelFunc
}

type subscriptionsKey struct{}

func subscriptionsOf(c *wire.Conn) *subscriptions {
	return c.Value(subscriptionsKey{}, func() any {
		return &subscriptions{end: map[string]context.CancelFunc{}}
	}).(*subscriptions)
}

// subscribe serves resources/subscribe. To subscribe again changes nothing.
func (s *Server) subscribe(_ context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
	res, uri, e := s.resourceOf(r)
	if e != nil {
		return nil, e
	}
	subs := subscriptionsOf(r.Conn)
	subs.mu.Lock()
	defer subs.mu.Unlock()
	if subs.end[uri] != nil {
		return json.RawMessage("{}"), nil
	}
	share := shareOf(r.Conn)
	if !share.resources.take() {
		return nil, tooMany("resources", share.resources.most)
	}
	ctx, cancel := context.WithCancel(r.Conn.Context())
	subs.end[uri] = cancel
	updates := s.watchResource(res)
	go func() {
		defer share.resources.give()
		defer updates.stop()
		updates.each(ctx, func() error {
			return deliver(ctx, r.Conn, r.Conn.Notify, resourceUpdated, func() json.RawMessage {
				o := newObject(64 + len(uri))
				o.str("uri", uri)
				return o.close()
			})
		})
	}()
	return json.RawMessage("{}"), nil
}

// unsubscribe serves resources/unsubscribe. To end what was not begun is no
// error.
func (s *Server) unsubscribe(_ context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
	uri, ok := parseArgs(r.Params).text("uri")
	if !ok {
		return nil, invalid("%s: params.uri is required and must be a string", r.Method)
	}
	subs := subscriptionsOf(r.Conn)
	subs.mu.Lock()
	defer subs.mu.Unlock()
	if end := subs.end[uri]; end != nil {
		end()
		delete(subs.end, uri)
	}
	return json.RawMessage("{}"), nil
}
