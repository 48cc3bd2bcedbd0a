package job

import (
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// guaranteed is a tree whose guarantee changes.
type guaranteed struct {
	*fakeTree
	kill sys.Scope
}

func (t *guaranteed) Guarantee() sys.Guarantee { return sys.Guarantee{Kill: t.kill} }

// TestGuaranteeAge: a running job's record repeats what it was told, for a while and
// not longer.
func TestGuaranteeAge(t *testing.T) {
	tree := &guaranteed{newFakeTree(), sys.ScopeTree}
	var c contained
	now := time.Now()
	first := c.ask(tree, now)
	want(t, "asked", first.Kill, string(sys.ScopeTree))
	tree.kill = sys.ScopeGroup
	want(t, "repeated", c.ask(tree, now.Add(guaranteeAge)).Kill, string(sys.ScopeTree))
	want(t, "asked again", c.ask(tree, now.Add(guaranteeAge+1)).Kill, string(sys.ScopeGroup))
	want(t, "what was given out", first.Kill, string(sys.ScopeTree))
}
