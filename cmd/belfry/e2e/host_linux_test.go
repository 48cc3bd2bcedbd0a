package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// descendants are the live processes below one by parent numbers, nearest
// first.
func descendants(pid int) []process {
	all := processes(func(int) bool { return true })
	family := []int{pid}
	var list []process
	for i := 0; i < len(family); i++ {
		for _, p := range all {
			if p.ppid == family[i] {
				family = append(family, p.pid)
				list = append(list, p)
			}
		}
	}
	return list
}

// A host that ends its server by walking parent numbers with SIGKILL, as many
// do, leaves no job: the guardian is out of its way.
func TestHostThatWalksParents(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"root first", "leaves first"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			for range rounds(t, 20) {
				s := serve(t, setup{})
				if r := s.sample(); r.Guarantee.SupervisorDeath != "tree" {
					t.Skipf("%s: the server's death reaches the %s", r.Mechanism, r.Guarantee.SupervisorDeath)
				}
				s.treeOf("tree-" + s.token)
				victims := append([]process{{pid: s.Process().Pid}}, descendants(s.Process().Pid)...)
				if len(victims) < 3 {
					t.Errorf("the server has only %d descendants", len(victims)-1)
				}
				if order == "leaves first" {
					slices.Reverse(victims)
				}
				for _, p := range victims {
					end9(p.pid, func() bool { return true })
				}
				s.exits(-1)
				waitNone(t, "jobs of a server that was killed", s.jobs)
			}
		})
	}
}

// A guardian that is killed takes no job with it, is followed by another, and
// is not needed to end a job.
func TestGuardianIsKilled(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	if r := s.sample(); r.Guarantee.SupervisorDeath != "tree" {
		t.Skipf("%s has no guardian", r.Mechanism)
	}
	first := s.treeOf("tree-one-" + s.token)
	guardian := s.guardian(0)
	end9(guardian, func() bool { return true })
	if r := s.status(first.JobID); r.State != "running" {
		t.Errorf("after the guardian's death: %+v", r)
	}
	if r := s.kill(first.JobID, args{"grace_ms": 0}); !r.confirmed() || r.State != "killed" {
		t.Errorf("kill without a guardian: %+v", r)
	}
	s.wantNone("after the kill")
	s.guardian(guardian) // another one
	for end := time.Now().Add(guard); ; {
		j := s.treeOf(fmt.Sprintf("tree-two-%s-%d", s.token, time.Now().UnixNano()))
		if j.Guarantee.SupervisorDeath == "tree" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no guardian follows the one that was killed: %+v", j.Guarantee)
		}
		s.kill(j.JobID, args{"grace_ms": 0})
	}
	s.must(s.Process().Kill())
	s.exits(-1)
	waitNone(t, "jobs of a server that was killed", s.jobs)
}

// guardian is the process of belfry's that is not the server, nor the one
// given.
func (s *server) guardian(other int) int {
	s.t.Helper()
	for end := time.Now().Add(guard); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
		for _, p := range s.own() {
			if p.pid != s.Process().Pid && p.pid != other && p.ppid != s.Process().Pid {
				return p.pid
			}
		}
	}
	s.t.Fatal("there is no guardian")
	return 0
}

// A belfry that runs inside a belfry's job ends with it, its job with it, and
// no directory of either is left.
func TestNested(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, mode string
		end        func(s *server, id string)
		status     int
	}{
		{"kill of the outer job", "stay", func(s *server, id string) {
			if r := s.kill(id, args{"grace_ms": 0}); r.State != "killed" || !r.confirmed() {
				s.t.Errorf("%+v", r)
			}
			s.wantNone("after the kill")
			s.must(s.CloseInput())
		}, 0},
		{"soft kill of the outer job", "stay", func(s *server, id string) {
			if r := s.kill(id); r.State != "killed" || !r.confirmed() {
				s.t.Errorf("%+v", r)
			}
			s.wantNone("after the kill")
			s.must(s.CloseInput())
		}, 0},
		{"orderly end of the inner server", "close", func(s *server, id string) {
			r := s.end(id)
			s.exited(r, 6)
			if !r.confirmed() {
				s.t.Errorf("not confirmed: %+v", r)
			}
			s.wantNone("after the end")
			s.must(s.CloseInput())
		}, 0},
		{"end of the outer server", "stay", func(s *server, _ string) {
			s.must(s.CloseInput())
		}, 0},
		{"SIGKILL of the outer server", "stay", func(s *server, _ string) {
			s.must(s.Process().Kill())
		}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, setup{})
			if m := s.sample().Mechanism; m != "cgroup_v2" {
				t.Skipf("%s: a belfry inside cannot be held whole", m)
			}
			leash := s.path("leash")
			s.must(os.WriteFile(leash, nil, 0o644))
			j := s.begin(helper("nest", c.mode, s.exe, leash), args{"vars": map[string]string{
				"BELFRY_POLICY_FILE": s.path("policy.json"), "BELFRY_KILL_GRACE_MS": "200",
			}})
			s.line(j.JobID, "ready")
			groups := s.groups()
			c.end(s, j.JobID)
			s.exits(c.status)
			waitNone(t, "processes after the end", s.jobs)
			s.groupsGone(groups)
		})
	}
}

// groups are the control groups of the server's jobs, however deep.
func (s *server) groups() []string {
	s.t.Helper()
	root := cgroupMount()
	seen := map[string]bool{}
	for _, p := range s.jobs() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.pid))
		if err != nil {
			continue // it ended
		}
		for line := range strings.Lines(string(text)) {
			if group, ok := strings.CutPrefix(line, "0::"); ok && strings.Contains(group, "/belfry-") {
				seen[filepath.Join(root, strings.TrimSpace(group))] = true
			}
		}
	}
	var list []string
	for dir := range seen {
		// With those above it that are ours.
		for ; strings.Contains(dir, "/belfry-"); dir = filepath.Dir(dir) {
			if !slices.Contains(list, dir) {
				list = append(list, dir)
			}
		}
	}
	return list
}

// groupsGone wants control groups removed. A killed server's are removed by
// its guardian, which nobody can wait for.
func (s *server) groupsGone(groups []string) {
	s.t.Helper()
	if len(groups) < 3 {
		s.t.Errorf("the job's groups are %v: the inner belfry made none of its own", groups)
	}
	for end := time.Now().Add(guard); ; <-time.After(2 * time.Millisecond) {
		groups = slices.DeleteFunc(groups, func(dir string) bool {
			_, err := os.Stat(dir)
			return os.IsNotExist(err)
		})
		if len(groups) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Errorf("control groups that are left: %v", groups)
			return
		}
	}
}
