package sys

import (
	"sync/atomic"

	"github.com/belfry-dev/belfry/darwin"
)

// bootID is read until it could be; "" where it cannot, which makes Unique unusable
// and leaves the start time to decide.
func bootID() string {
	if id := knownBootID.Load(); id != nil {
		return *id
	}
	id, err := darwin.BootSession()
	if err != nil {
		return ""
	}
	knownBootID.Store(&id)
	return id
}

var knownBootID atomic.Pointer[string]

// identify reads the identity of a process. Its unique id is an extra.
func identify(pid int) (ID, error) {
	k, err := darwin.ReadKinfo(pid)
	if err != nil {
		return ID{}, err
	}
	id := idOf(k)
	if u, err := darwin.ReadUnique(pid); err == nil {
		id.Unique = u.ID
	}
	return id, nil
}

func idOf(k darwin.Kinfo) ID {
	return ID{PID: k.PID, Birth: k.Start, Kind: BirthStartMicros, Boot: bootID()}
}
