package sys

import (
	"sync"

	"github.com/belfry-dev/belfry/darwin"
)

// bootID is read once; "" where it cannot be, which makes Unique unusable and
// leaves the start time to decide.
var bootID = sync.OnceValue(func() string {
	id, err := darwin.BootSession()
	if err != nil {
		return ""
	}
	return id
})

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
