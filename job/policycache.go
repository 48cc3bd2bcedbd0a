package job

import (
	"sync"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// policyFresh is how long a file counts as still being written: within it two
// edits may share one time stamp, so its text is read again for every run.
const policyFresh = 2 * time.Second

// policyCache keeps the parsed policy while the file is unchanged, which its time of
// modification does not tell: whoever writes it can set that. That it could not be
// had is not kept: a shortage of descriptors passes, and so does a want of permission,
// of which neither size nor time of the file tells.
type policyCache struct {
	file          PolicyFile
	path, pathext string

	mu     sync.Mutex
	policy Policy
	stamp  sys.FileStamp
	valid  bool
}

// load gives the policy that is in force now.
func (c *policyCache) load(now time.Time) (Policy, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamp, err := sys.Stamp(c.file.Path)
	if c.valid && err == nil && stamp == c.stamp && now.Sub(time.Unix(0, stamp.Change)) > policyFresh {
		return c.policy, nil
	}
	policy, lerr := c.file.Load(c.path, c.pathext)
	if c.valid = err == nil && lerr == nil; c.valid {
		c.policy, c.stamp = policy, stamp
	}
	return policy, lerr
}
