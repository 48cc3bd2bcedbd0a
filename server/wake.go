package server

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/hostwake"
	"github.com/belfry-dev/belfry/server/wire"
)

// wakes wake the program that hosts the agent, beside the protocol: no host is
// known to give the model a turn because of a notification.
type wakes struct {
	hosts  []hostwake.Transport
	thread func(id string) hostwake.Transport
	log    func(format string, args ...any)

	last byJob[*attempt]

	mu   sync.Mutex
	shut map[string]bool // transports that cannot deliver any more, by name
}

// attempt is the last try to wake the host for a job.
type attempt struct {
	transport string
	outcome   hostwake.Outcome
	at        time.Time
}

// doors gives the transports for the jobs of one call.
func (w *wakes) doors(c *wire.Call) []hostwake.Transport {
	doors := w.hosts
	if who := clientOf(c); who != nil {
		doors = append(doors[:len(doors):len(doors)], who.Hosts...)
	}
	if w.thread != nil {
		var id string
		if json.Unmarshal(c.Meta("threadId"), &id) == nil && id != "" {
			doors = append(doors[:len(doors):len(doors)], w.thread(id))
		}
	}
	return doors
}

// wakeHost wakes the host once for every window with new output and once at
// the end of the job, or until ctx ends. A wake that takes longer than a
// window collects what comes meanwhile; at the end the end alone is told.
func (s *Server) wakeHost(ctx context.Context, j *job.Job, doors []hostwake.Transport) {
	for after := uint64(0); ; {
		cause := j.Follow(ctx, after, job.SelBoth, 0)
		snap := j.Snapshot()
		if cause == job.CauseCancelled || shutDown(&snap) {
			return
		}
		if cause == job.CauseEnded {
			s.wake(ctx, j, doors, "belfry: the background job "+j.ID()+" has ended, its state is "+string(snap.State)+
				". The tool status tells how it ended, output and tail show what it printed.")
			return
		}
		if !window(ctx, j.Done()) {
			return
		}
		if over(j.Done()) {
			continue
		}
		if snap = j.Snapshot(); shutDown(&snap) {
			return
		}
		after = max(after, j.Head(job.SelBoth))
		s.wake(ctx, j, doors, "belfry: the background job "+j.ID()+
			" has new output and goes on. The tools output and tail show it.")
	}
}

// shutDown reports whether the server's own end has begun to end a job: that is
// no news to a host, which has asked for it.
func shutDown(s *job.Snapshot) bool {
	return s.EndedBy == job.ByShutdown || s.Ending != nil && s.Ending.By == job.ByShutdown
}

// wake tries the doors in turn and records the last try.
func (s *Server) wake(ctx context.Context, j *job.Job, doors []hostwake.Transport, text string) {
	w := &s.wakes
	for _, door := range doors {
		if w.isShut(door) {
			continue
		}
		a := &attempt{transport: door.Name(), at: time.Now()}
		a.outcome = door.Wake(ctx, text)
		if ctx.Err() != nil {
			return // the host has gone
		}
		before := w.last.get(j.ID())
		w.last.set(s.store, j.ID(), a)
		if w.log != nil && (before == nil || before.outcome != a.outcome) {
			w.log("wake for job %s by %s: %s, %s", j.ID(), a.transport, a.outcome.Result, a.outcome.Detail)
		}
		if a.outcome.Permanent {
			w.close(door)
		}
		if a.outcome.Result == hostwake.Delivered {
			return
		}
	}
}

func (w *wakes) isShut(door hostwake.Transport) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shut[door.Name()]
}

func (w *wakes) close(door hostwake.Transport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut == nil {
		w.shut = map[string]bool{}
	}
	w.shut[door.Name()] = true
}

func (o *object) attempt(a *attempt) {
	o.open("last_wake_attempt")
	o.str("outcome", string(a.outcome.Result))
	o.str("transportName", a.transport)
	o.str("detail", a.outcome.Detail)
	o.time("attemptedAt", a.at)
	if r := a.outcome.Result; r != hostwake.Delivered && r != hostwake.Threw {
		o.flag("permanent", a.outcome.Permanent)
	}
	o.end()
}
