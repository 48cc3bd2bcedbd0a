package job

import (
	"sync"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// Guarantee is what contains a job.
type Guarantee struct {
	Mechanism       string
	Kill            string
	LeaderExit      string
	SupervisorDeath string
	HelperDeath     string
}

func guaranteeOf(g sys.Guarantee) *Guarantee {
	return &Guarantee{
		Mechanism: string(g.Mechanism), Kill: string(g.Kill), LeaderExit: string(g.LeaderExit),
		SupervisorDeath: string(g.SupervisorDeath), HelperDeath: string(g.HelperDeath),
	}
}

// guaranteeAge is how old an answer may be that a running job's record repeats: a
// job that is followed line by line would spend more on asking than on its lines.
// The record of its end is asked anew.
const guaranteeAge = 20 * time.Millisecond

// contained is what the kernel has last told of a running tree's guarantee.
type contained struct {
	mu   sync.Mutex
	at   time.Time
	told *Guarantee // never changed once told
}

func (c *contained) ask(tree sys.Tree, now time.Time) *Guarantee {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil || now.Sub(c.at) > guaranteeAge {
		c.told, c.at = guaranteeOf(tree.Guarantee()), now
	}
	return c.told
}
