package sys

import "sync"

// tables reads the process table for all trees of a host. Reading it costs as
// much as there are processes, and a host that ends many trees at once would
// read it for each of them, again and again. Whoever asks while a reading is
// under way shares the next one with all who do: everybody gets a table whose
// reading began after it was asked for.
type tables struct {
	table func() ([]kin, error)

	turn chan struct{} // full while the table is read
	mu   sync.Mutex
	next *reading // not begun yet; nil when nobody waits
}

func newTables(table func() ([]kin, error)) *tables {
	return &tables{table: table, turn: make(chan struct{}, 1)}
}

// reading is one look at the table, for everybody who waits for it.
type reading struct {
	done chan struct{}
	all  []kin
	err  error
}

// read gives a table that nobody may change.
func (t *tables) read() ([]kin, error) {
	t.mu.Lock()
	r := t.next
	first := r == nil
	if first {
		r = &reading{done: make(chan struct{})}
		t.next = r
	}
	t.mu.Unlock()
	if !first {
		<-r.done
		return r.all, r.err
	}
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	t.mu.Lock()
	t.next = nil
	t.mu.Unlock()
	r.all, r.err = t.table()
	close(r.done)
	return r.all, r.err
}
