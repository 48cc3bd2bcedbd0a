package job

import (
	"os"
	"sync"
	"time"
)

// policyFresh is how long a file counts as still being written: within it two
// edits may share one time stamp, so its text is read again for every run.
const policyFresh = 2 * time.Second

// policyCache keeps the parsed policy while the file is unchanged. That it could not be
// had is not kept: a shortage of descriptors passes, and so does a want of permission,
// of which neither size nor time of the file tells.
type policyCache struct {
	file          PolicyFile
	path, pathext string

	mu     sync.Mutex
	policy Policy
	size   int64
	mtime  time.Time
	valid  bool
}

// load gives the policy that is in force now.
func (c *policyCache) load() (Policy, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st, err := os.Stat(c.file.Path)
	if c.valid && err == nil && st.Size() == c.size && st.ModTime().Equal(c.mtime) &&
		time.Since(st.ModTime()) > policyFresh {
		return c.policy, nil
	}
	policy, lerr := c.file.Load(c.path, c.pathext)
	if c.valid = err == nil && lerr == nil; c.valid {
		c.policy, c.size, c.mtime = policy, st.Size(), st.ModTime()
	}
	return policy, lerr
}
