package server

import (
	"sync"

	"github.com/belfry-dev/belfry/job"
)

// hub tells those who watch jobs of their changes. It listens to the store
// only while somebody watches.
type hub struct {
	store *job.Store

	mu       sync.Mutex
	watchers map[string]map[*watcher]struct{} // by job id
	sub      *job.Subscription
}

type watcher struct{ changed func() }

// hubBuffer is how many events may wait. Should more come at once, every
// watcher looks at its job again.
const hubBuffer = 1024

// watch has changed called after every change of a job, until stop. changed
// must not block, and may still be called once while stop runs.
func (h *hub) watch(id string, changed func()) (stop func()) {
	w := &watcher{changed}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[string]map[*watcher]struct{}{}
	}
	if h.watchers[id] == nil {
		h.watchers[id] = map[*watcher]struct{}{}
	}
	h.watchers[id][w] = struct{}{}
	if h.sub == nil {
		h.sub = h.store.Subscribe(hubBuffer)
		go h.run(h.sub)
	}
	return func() { h.leave(id, w) }
}

func (h *hub) leave(id string, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers[id], w)
	if len(h.watchers[id]) == 0 {
		delete(h.watchers, id)
	}
	if len(h.watchers) == 0 && h.sub != nil {
		h.sub.Close()
		h.sub = nil
	}
}

func (h *hub) run(sub *job.Subscription) {
	for e := range sub.C {
		h.mu.Lock()
		if sub.Missed() > 0 {
			for _, ws := range h.watchers {
				tell(ws)
			}
		} else {
			tell(h.watchers[e.Job.ID()])
		}
		h.mu.Unlock()
	}
}

func tell(ws map[*watcher]struct{}) {
	for w := range ws {
		w.changed()
	}
}
