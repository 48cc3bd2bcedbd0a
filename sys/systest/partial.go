package systest

import (
	"flag"
	"os"
	"sync"
)

// partial tells whether only some tests were asked for, or none (a fuzz
// worker, a list): what was not run cannot have used its helpers.
func partial() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.fuzzworker"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return true
		}
	}
	return false
}

// names is a set of strings for many goroutines.
type names struct {
	mu  sync.Mutex
	set map[string]bool
}

func newNames() *names { return &names{set: map[string]bool{}} }

func (n *names) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.set[s] = true
}

func (n *names) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]string, 0, len(n.set))
	for s := range n.set {
		out = append(out, s)
	}
	return out
}

// self is the test binary. Where its directory is closed to the user the
// running file still serves.
func self() string {
	path, err := os.Executable()
	if err != nil {
		panic("systest: " + err.Error())
	}
	if _, err := os.Stat(path); err != nil {
		return childPath()
	}
	return path
}
