package server

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/belfry-dev/belfry/server/wire"
)

const subscriptionKey = "io.modelcontextprotocol/subscriptionId"

// listening is one subscriptions/listen request.
type listening struct {
	srv  *Server
	r    *wire.Request
	meta string // the _meta member of all that belongs to it

	mu    sync.Mutex
	dirty []*listened
	wake  chan struct{} // something is dirty
}

// listened is a task that a listen looks at.
type listened struct {
	task  Task
	sent  string // Mark of the last state that the client was told
	dirty bool   // under the listening's mu
}

// listen serves subscriptions/listen: the acknowledgement with what of the
// filter is honoured, the present state of each task, then every change until
// the client cancels or the input ends. A listen that has nothing to wait for
// ends at once.
func (s *Server) listen(ctx context.Context, r *wire.Request) (json.RawMessage, *wire.Error) {
	f, e := readFilter(r)
	if e != nil {
		return nil, e
	}
	l := &listening{srv: s, r: r, wake: make(chan struct{}, 1), meta: `"_meta":{"` + subscriptionKey + `":` + string(r.ID) + `}`}
	ctx, cancel := context.WithCancel(ctx)
	var followers sync.WaitGroup
	defer func() { cancel(); followers.Wait() }()
	share := shareOf(r.Conn)

	// Everything is watched before the acknowledgement, and the tasks' states
	// are told after it, so that no change falls between.
	var tasks, uris []string
	for _, id := range f.tasks {
		t, ok := s.task(id)
		if !ok {
			continue
		}
		if !share.tasks.take() {
			return nil, tooMany("tasks", share.tasks.most)
		}
		defer share.tasks.give()
		item := &listened{task: t}
		defer t.Watch(func() { l.mark(item) })()
		l.mark(item)
		tasks = append(tasks, id)
	}
	var follow []func()
	for _, uri := range f.resources {
		res, ok := s.resource(uri)
		if !ok {
			continue
		}
		if !share.resources.take() {
			return nil, tooMany("resources", share.resources.most)
		}
		defer share.resources.give()
		updates := s.watchResource(res)
		defer updates.stop()
		follow = append(follow, func() { updates.each(ctx, func() error { return l.updated(ctx, uri) }) })
		uris = append(uris, uri)
	}
	ack := l.acknowledgement(f, tasks, uris)
	if err := deliver(ctx, r.Conn, r.Notify, "notifications/subscriptions/acknowledged", func() json.RawMessage { return ack }); err != nil {
		return nil, &wire.Error{Code: wire.CodeInternal, Message: "acknowledge: " + err.Error()}
	}
	for _, each := range follow {
		followers.Go(each)
	}
	if len(tasks)+len(uris) > 0 {
		l.serve(ctx)
	}
	return json.RawMessage("{" + l.meta + "}"), nil
}

// acknowledgement names the part of the filter that is honoured.
func (l *listening) acknowledgement(f filter, tasks, uris []string) json.RawMessage {
	o := newObject(256 + 48*len(tasks) + 96*len(uris))
	o.b = append(o.b, l.meta...)
	o.open("notifications")
	if f.tasks != nil {
		o.list("taskIds", tasks)
	}
	if f.resources != nil {
		o.list("resourceSubscriptions", uris)
	}
	o.end()
	return o.close()
}

// mark has a task looked at.
func (l *listening) mark(item *listened) {
	l.mu.Lock()
	if !item.dirty {
		item.dirty = true
		l.dirty = append(l.dirty, item)
	}
	l.mu.Unlock()
	signal(l.wake)
}

func (l *listening) take() []*listened {
	l.mu.Lock()
	defer l.mu.Unlock()
	items := l.dirty
	l.dirty = nil
	for _, item := range items {
		item.dirty = false
	}
	return items
}

// serve tells the client of tasks until ctx ends. However far the client is
// behind, a task waits for it once, and is told as it is then.
func (l *listening) serve(ctx context.Context) {
	for {
		for _, item := range l.take() {
			var state TaskState
			err := deliver(ctx, l.r.Conn, l.r.Notify, "notifications/tasks", func() json.RawMessage {
				state = item.task.State(wire.Modern)
				if state.Mark == item.sent {
					return nil
				}
				return before(l.meta, state.Detail)
			})
			if err != nil {
				return
			}
			item.sent = state.Mark
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
	}
}

func (l *listening) updated(ctx context.Context, uri string) error {
	return deliver(ctx, l.r.Conn, l.r.Notify, resourceUpdated, func() json.RawMessage {
		o := newObject(128 + len(uri))
		o.b = append(o.b, l.meta...)
		o.str("uri", uri)
		return o.close()
	})
}
