package job

import (
	"context"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

func (s *Store) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// Close admits no more jobs, drains the queue, ends every tree (soft stop, the
// shutdown grace, hard kill) and returns when all are recorded. When ctx ends
// first the grace is over: every tree is killed hard at once, and Close still
// waits for the outcome. It never abandons a job but those that are detached,
// which go on or, where they wait for a place, go on waiting, and may be called
// again.
func (s *Store) Close(ctx context.Context) {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	queued := s.queue
	s.queue = nil
	var live []*Job
	for e := s.order.Front(); e != nil; e = e.Next() {
		if j, whole := e.Value.(*Job); whole && !closed(j.done) && !j.detach {
			live = append(live, j)
		}
	}
	s.sweep.stop()
	s.mu.Unlock()
	s.leave()
	for _, j := range queued {
		j.place.Store(0)
		j.leaveQueue()
	}
	s.endAll(live, s.cfg.shutdownGrace())
	for _, j := range live {
		select {
		case <-j.done:
			continue
		case <-ctx.Done():
		}
		break
	}
	if ctx.Err() != nil {
		s.endAll(live, 0)
	}
	for _, j := range live {
		<-j.done
	}
	if first {
		close(s.closed)
	}
	s.live.Wait()
	s.dropNext()
}

// endAll asks every job to end, without waiting for any.
func (s *Store) endAll(jobs []*Job, grace time.Duration) {
	for _, j := range jobs {
		go j.deliver(context.Background(), ask{by: ByShutdown, signal: sys.SIGTERM, grace: grace})
	}
}
