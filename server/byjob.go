package server

import (
	"sync"

	"github.com/belfry-dev/belfry/job"
)

// byJob holds what the server knows of some jobs beside their records, for as
// long as these live.
type byJob[V any] struct {
	mu sync.Mutex
	of map[string]V
}

// get gives the zero value for a job of which nothing is known.
func (b *byJob[V]) get(id string) V {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[id]
}

// set enters a value. A job's first one is the moment to forget those whose
// records are gone.
func (b *byJob[V]) set(store *job.Store, id string, v V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.of[id]; !ok {
		for other := range b.of {
			if _, ok := store.Get(other); !ok {
				delete(b.of, other)
			}
		}
	}
	if b.of == nil {
		b.of = map[string]V{}
	}
	b.of[id] = v
}
