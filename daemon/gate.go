package daemon

import (
	"sort"
	"sync"
	"time"
)

// firstStay is how long a daemon stays at least when nobody has attached yet:
// else a starter would find its own daemon gone before it can say hello.
const firstStay = time.Second

type phase uint8

const (
	serving phase = iota
	draining
	closed // told to stop, or idle for long enough: nobody is let in any more
)

// gate admits clients and requests and decides when the daemon is idle, all
// under one mutex: a client that is let in keeps the daemon, and one that comes
// after the decision is turned away before hello.
type gate struct {
	idle time.Duration // 0: never

	mu       sync.Mutex
	phase    phase
	clients  map[*lease]Client
	requests int
	kept     int
	ready    time.Time
	since    time.Time // when the last of them left
	used     bool      // somebody has attached
	change   chan struct{}
	empty    chan struct{} // closed when neither client nor request is left, once it drains
	stopped  chan struct{} // closed when the drain begins
}

// lease is one admitted client.
type lease struct {
	g    *gate
	once sync.Once
}

func newGate(idle time.Duration, now time.Time) *gate {
	return &gate{idle: idle, clients: map[*lease]Client{}, ready: now, since: now,
		change: make(chan struct{}, 1), empty: make(chan struct{}), stopped: make(chan struct{})}
}

// admit lets a client in; nil when it is too late.
func (g *gate) admit(c Client) *lease {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != serving {
		return nil
	}
	l := &lease{g: g}
	g.clients[l] = c
	g.used = true
	return l
}

// know completes what is known of an admitted client.
func (l *lease) know(c Client) {
	l.g.mu.Lock()
	defer l.g.mu.Unlock()
	if _, there := l.g.clients[l]; there {
		l.g.clients[l] = c
	}
}

// leave ends a lease. It is idempotent.
func (l *lease) leave() {
	l.once.Do(func() {
		l.g.mu.Lock()
		defer l.g.mu.Unlock()
		delete(l.g.clients, l)
		l.g.settleLocked()
	})
}

// enter counts a request; false when it is too late.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != serving {
		return false
	}
	g.requests++
	g.used = true
	return true
}

func (g *gate) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests--
	g.settleLocked()
}

// keep counts work of the application's own by n.
func (g *gate) keep(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept += n
	if n < 0 {
		g.settleLocked()
	}
}

// settleLocked notes the moment at which the last one left.
func (g *gate) settleLocked() {
	if len(g.clients) > 0 || g.requests > 0 {
		return
	}
	if g.phase == draining {
		g.closeLocked()
	}
	if g.kept == 0 {
		g.since = time.Now()
		select {
		case g.change <- struct{}{}:
		default:
		}
	}
}

func (g *gate) closeLocked() {
	g.phase = closed
	close(g.empty)
}

// expire decides whether the idle time is over, and if so lets nobody in any
// more. Else it says when to ask again; 0 is after the next change.
func (g *gate) expire(now time.Time) (over bool, again time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != serving {
		return false, 0
	}
	if g.idle <= 0 || len(g.clients) > 0 || g.requests > 0 || g.kept > 0 {
		return false, 0
	}
	end := g.since.Add(g.idle)
	if stay := g.ready.Add(firstStay); !g.used && end.Before(stay) {
		end = stay
	}
	if now.Before(end) {
		return false, end.Sub(now)
	}
	close(g.stopped)
	g.closeLocked()
	return true, 0
}

// drain lets nobody in any more. empty is closed when clients and requests are
// gone. Only the first call does something.
func (g *gate) drain() (empty <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase == serving {
		g.phase = draining
		close(g.stopped)
		if len(g.clients) == 0 && g.requests == 0 {
			g.closeLocked()
		}
	}
	return g.empty
}

// quietNow drains if nobody is attached or at work, and says whether it did:
// the moment at which a daemon may be replaced.
func (g *gate) quietNow() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != serving || len(g.clients) > 0 || g.requests > 0 || g.kept > 0 {
		return false
	}
	g.phase = draining
	close(g.stopped)
	g.closeLocked()
	return true
}

// look gives what a hello tells: the state, every client but the one who asks,
// and whether there is work without a client.
func (g *gate) look(but *lease) (s State, clients []Client, busy bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s = StateRunning
	if g.phase != serving {
		s = StateDraining
	}
	clients = make([]Client, 0, len(g.clients))
	for l, c := range g.clients {
		if l != but {
			clients = append(clients, c)
		}
	}
	// Not by slices.SortFunc, which is 20 KB of code for each struct.
	sort.Slice(clients, func(i, j int) bool { return clients[i].Since.Before(clients[j].Since) })
	return s, clients, g.kept > 0 || g.requests > 0
}

// waitIdle returns true once the daemon has been idle for long enough, false
// when stop is closed first.
func (g *gate) waitIdle(stop <-chan struct{}) bool {
	for {
		over, again := g.expire(time.Now())
		if over {
			return true
		}
		var timer *time.Timer
		var alarm <-chan time.Time
		if again > 0 {
			timer = time.NewTimer(again)
			alarm = timer.C
		}
		select {
		case <-alarm:
		case <-g.change:
		case <-stop:
		}
		if timer != nil {
			timer.Stop()
		}
		select {
		case <-stop:
			return false
		default:
		}
	}
}
