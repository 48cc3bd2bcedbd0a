package daemon

import "sync"

// ConnTracker counts the clients of a server that has its own way to attach
// them. A Disconnect without its Connect changes nothing. The zero value is
// ready for use; it is safe for concurrent use.
type ConnTracker struct {
	mu     sync.Mutex
	active int
}

// NewConnTracker gives a tracker that counts none.
func NewConnTracker() *ConnTracker { return &ConnTracker{} }

// Connect counts one client more.
func (t *ConnTracker) Connect() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active++
}

// Disconnect counts one client less, and never below none.
func (t *ConnTracker) Disconnect() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = max(t.active-1, 0)
}

// Active is the number of clients.
func (t *ConnTracker) Active() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active
}

// Keep lets an application hold its daemon while it has work that no client
// waits for, such as a job: the daemon does not idle out meanwhile. It does not
// hold up a stop. The zero value is ready for Config.Keep.
type Keep struct {
	mu   sync.Mutex
	held int
	gate *gate // nil until Serve
}

// Take holds the daemon until release is called, once or more.
func (k *Keep) Take() (release func()) {
	k.add(1)
	return sync.OnceFunc(func() { k.add(-1) })
}

func (k *Keep) add(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held += n
	if k.gate != nil {
		k.gate.keep(n)
	}
}

// serve tells a gate what is held already.
func (k *Keep) serve(g *gate) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gate = g
	g.keep(k.held)
}
