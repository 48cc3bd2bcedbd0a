package e2e

import (
	"testing"
)

// TestLimitsAreTrue: a job with a limit runs under it and says so, or nothing
// runs and the record says why and what would help.
func TestLimitsAreTrue(t *testing.T) {
	need(t, "sleep")
	s := serve(t, setup{})
	for name, limit := range map[string]float64{"memory_bytes": 1 << 30, "tasks": 500, "cpus": 0.5} {
		r := s.tool("run", s.runArgs([]string{"sleep", "300"}, args{"allow_weaker": true, "limits": args{name: limit}}))
		if r.State != "failed" {
			s.running(r.JobID)
			r = s.status(r.JobID)
			if r.Limits[name] <= 0 || r.Mechanism == "process_group" {
				t.Errorf("%s is said to be limited: %+v", name, r)
			}
			s.kill(r.JobID)
			continue
		}
		if r.PID != 0 || r.EndedBy != "spawn_failed" || r.Diagnostic.Code != "limit_unavailable" || len(r.Diagnostic.Limits) != 1 {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		if l := r.Diagnostic.Limits[0]; l.Limit != name || l.Enforced || l.Reason == "" || l.Detail == "" || l.Remedy == "" || l.Requested <= 0 {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// TestContainIsAFloor: a job has at least the container that it asked for, or
// nothing runs.
func TestContainIsAFloor(t *testing.T) {
	need(t, "sleep")
	s := serve(t, setup{})
	rank := map[string]int{"none": 0, "leader": 1, "group": 2, "tree_on_restart": 3, "tree": 4}
	for _, c := range []struct {
		contain string
		holds   func(g guarantee) bool
	}{
		{"group", func(g guarantee) bool { return rank[g.Kill] >= rank["group"] }},
		{"tree", func(g guarantee) bool { return g.Kill == "tree" && g.SupervisorDeath == "tree" }},
		{"strict", func(g guarantee) bool {
			return g.Kill == "tree" && g.SupervisorDeath == "tree" && g.HelperDeath == "tree"
		}},
	} {
		r := s.tool("run", s.runArgs([]string{"sleep", "300"}, args{"contain": c.contain}))
		if r.State == "failed" {
			if r.Diagnostic.Code != "containment_unavailable" || r.Diagnostic.Message == "" || r.PID != 0 {
				t.Errorf("%s: %+v", c.contain, r)
			}
			continue
		}
		s.running(r.JobID)
		r = s.status(r.JobID)
		if !c.holds(r.Guarantee) {
			t.Errorf("%s is held by %s: %+v", c.contain, r.Mechanism, r.Guarantee)
		}
		s.kill(r.JobID)
	}
}
