package registry

import (
	"errors"
	"fmt"
)

// Why a run id does not name one live run.
var (
	ErrNotFound  = errors.New("there is no such run")
	ErrStale     = errors.New("the runner of this run is dead; belfry prune removes what it left")
	ErrUnprobed  = errors.New("whether this run is live cannot be told")
	ErrAmbiguous = errors.New("more than one live run has this id")
)

// Find gives the one live run of that id. Otherwise the error is ErrAmbiguous,
// ErrUnprobed, ErrStale or ErrNotFound, or tells why the registry cannot be read.
func (r *Registry) Find(id string) (Entry, error) {
	l, err := r.List()
	if err != nil {
		return Entry{}, err
	}
	return l.Find(id)
}

// Find is Registry.Find in what was read.
func (l Listing) Find(id string) (Entry, error) {
	by := map[Health][]Entry{}
	for _, e := range l.Entries {
		if e.RunID == id {
			by[e.Health] = append(by[e.Health], e)
		}
	}
	switch live := by[Live]; {
	case len(live) == 1:
		return live[0], nil
	case len(live) > 1:
		return Entry{}, fmt.Errorf("%w (%d)", ErrAmbiguous, len(live))
	case len(by[Unprobed]) > 0:
		return by[Unprobed][0], fmt.Errorf("%w: its lock file cannot be asked", ErrUnprobed)
	case len(by[Stale]) > 0:
		return by[Stale][0], ErrStale
	case l.Unreadable > 0:
		return Entry{}, fmt.Errorf("%w: %w", ErrUnprobed, l.Unsure())
	}
	return Entry{}, ErrNotFound
}
