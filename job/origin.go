package job

import (
	"sync"
	"time"
)

// Origin is for whom a job is started, where a store serves several clients:
// what of their surroundings counts for their jobs. It may be used for any
// number of jobs and must not be changed after the first.
type Origin struct {
	// Client is recorded with the jobs (Snapshot.Client); "" is not.
	Client string
	// Dir is where relative working directories start; "" makes them refused.
	Dir    string
	Base   Base
	Roots  []string
	Policy PolicyFile
	// Umask is that of the jobs (sys.Spec.Umask); nil is this process's own.
	Umask *int

	once  sync.Once
	cache *policyCache
}

// policy is what the origin's policy file says, parsed again when it changed.
func (o *Origin) policy() (Policy, error) {
	o.once.Do(func() { o.cache = &policyCache{file: o.Policy, path: o.Base.path(), pathext: o.Base.PathExt} })
	return o.cache.load(time.Now())
}

// origin is whose surroundings count for a spec.
func (s *Store) origin(sp *Spec) *Origin {
	if sp.Origin != nil {
		return sp.Origin
	}
	return s.own
}
