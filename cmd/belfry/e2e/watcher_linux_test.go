package e2e

import (
	"testing"
)

// A process of the tree that watches the leader by its number sees it go: a
// leader kept as a zombie would be there for it for ever.
func TestWatcherSeesTheLeaderGo(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	if m := s.sample().Mechanism; m == "process_group" {
		t.Skipf("%s holds its leader until the group is empty", m)
	}
	const watcher = `(while kill -0 $$ 2>/dev/null; do sleep 0.02; done; echo gone) & echo ready; exit 3`
	j := s.begin(shell(watcher), args{"on_exit": "wait"})
	s.line(j.JobID, "ready")
	r := s.end(j.JobID)
	s.exited(r, 3)
	if got := s.text(j.JobID, "both"); got != "ready\ngone\n" {
		t.Errorf("text %q", got)
	}
	if !r.confirmed() {
		t.Errorf("not confirmed: %+v", r)
	}
}
