package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// A whole tree ends, whatever it does to get away and whatever ends it: as
// root, and as a user who owns nothing. Where status tells of less than the
// tree, the test asks for that and no more.

// user is who runs the server.
type user struct {
	name   string
	change func(*exec.Cmd)
}

// users are those that this test may run a server as.
func users() []user {
	if os.Getuid() != 0 {
		return []user{{"self", nil}}
	}
	return []user{{"root", nil}, {"nobody", func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}}}
}

// serveAs starts a server for hostile trees.
func serveAs(t *testing.T, u user) *server {
	t.Helper()
	return serve(t, setup{change: u.change, env: map[string]string{"BELFRY_KILL_GRACE_MS": "20"}})
}

// letGo ends what nobody has promised to end of a tree.
func (s *server) letGo(mark string) {
	s.t.Helper()
	s.must(os.Remove(s.path(mark)))
	sweep(func() []process { return ofTree(mark) })
}

// hostile are the arguments of a job that is a hostile tree; its processes
// can be told from those of the server's other jobs.
func (s *server) hostile(mode, mark string, more ...args) args {
	s.t.Helper()
	leash := s.path(mark)
	s.must(os.WriteFile(leash, nil, 0o644))
	return s.runArgs(helper("tree", mode, leash), append(more, args{"vars": map[string]string{treeVar: mark}})...)
}

// treeVar marks the processes of one tree.
const treeVar = "BELFRY_E2E_TREE"

// ofTree are the live processes of one tree.
func ofTree(mark string) []process {
	return processes(func(pid int) bool { return environ(pid, treeVar, mark+"\x00") })
}

// promised are those of the tree's live processes that had to be dead by now,
// in the words of the guarantee.
func promised(scope string, leader int, left []process) []process {
	return slices.DeleteFunc(left, func(p process) bool {
		switch scope {
		case "tree":
			return false
		case "group":
			return p.pgrp != leader
		case "leader":
			return p.pid != leader
		}
		return true
	})
}

// sample is the record of a job that does nothing: what contains the jobs of
// this server, before a hostile one is started.
func (s *server) sample() record {
	s.t.Helper()
	id := s.begin([]string{"sleep", "300"}).JobID
	s.running(id)
	r := s.status(id)
	s.kill(id)
	return r
}

// claims checks a guarantee on its own.
func (s *server) claims(r record) {
	s.t.Helper()
	g := r.Guarantee
	all := []string{g.Kill, g.LeaderExit, g.SupervisorDeath, g.HelperDeath}
	for _, scope := range all {
		if !slices.Contains([]string{"tree", "tree_on_restart", "group", "leader", "none"}, scope) {
			s.t.Errorf("%s: the guarantee says %q: %+v", r.Mechanism, scope, g)
		}
	}
	switch r.Mechanism {
	case "process_group":
		if slices.Contains(all, "tree") || slices.Contains(all, "tree_on_restart") {
			s.t.Errorf("a process group claims to hold a tree: %+v", g)
		}
	case "cgroup_v2":
		if g.Kill != "tree" || g.LeaderExit != "tree" || g.HelperDeath != "tree_on_restart" {
			s.t.Errorf("a control group claims %+v", g)
		}
	case "subreaper":
		if (g != guarantee{Kill: "tree", LeaderExit: "tree", SupervisorDeath: "tree", HelperDeath: "leader"}) {
			s.t.Errorf("a subreaper claims %+v", g)
		}
	default:
		s.t.Errorf("mechanism %q", r.Mechanism)
	}
}

// TestTreeEndsInsideAServer ends many trees of one server.
func TestTreeEndsInsideAServer(t *testing.T) {
	for _, u := range users() {
		for _, c := range []struct {
			name, mode string
			end        func(s *server, id string) record
			want       func(r record) bool
			scope      func(g guarantee) string
		}{
			{
				"kill", "stay",
				func(s *server, id string) record { return s.kill(id) },
				func(r record) bool { return r.State == "killed" && r.Signal == "SIGKILL" && r.EndedBy == "kill" },
				func(g guarantee) string { return g.Kill },
			},
			{
				"leader exit", "exit",
				func(s *server, id string) record { return s.end(id) },
				func(r record) bool { return r.State == "exited" && r.code() == 5 && r.EndedBy == "exit" },
				func(g guarantee) string { return g.LeaderExit },
			},
			{
				"deadline", "stay",
				func(s *server, id string) record { return s.end(id) },
				func(r record) bool { return r.State == "failed" && r.EndedBy == "deadline" },
				func(g guarantee) string { return g.Kill },
			},
		} {
			t.Run(u.name+"/"+c.name, func(t *testing.T) {
				s := serveAs(t, u)
				var complete atomic.Int64
				var deadline atomic.Int64 // ms; longer where trees are slow to grow
				deadline.Store(400)
				n := rounds(t, 200)
				pool(t, 4, n, func(t *testing.T, i int) {
					s := s.with(t)
					mark := fmt.Sprintf("tree-%s-%d", s.token, i)
					limit := args{}
					if c.name == "deadline" {
						limit["deadline_ms"] = deadline.Load()
					}
					j := s.tool("run", s.hostile(c.mode, mark, limit))
					if c.name != "deadline" {
						s.line(j.JobID, "ready")
					}
					r := c.end(s, j.JobID)
					if s.text(j.JobID, "stdout") == "ready\n" {
						complete.Add(1)
					} else {
						deadline.Store(min(2*deadline.Load(), 20_000))
					}
					was := s.status(j.JobID)
					s.claims(was)
					if !c.want(r) || was.Mechanism != "process_group" && !r.confirmed() {
						t.Errorf("%+v", r)
					}
					scope := c.scope(was.Guarantee)
					if left := promised(scope, was.PID, ofTree(mark)); len(left) > 0 {
						t.Errorf("%s, %s: %d survivors: %v", was.Mechanism, scope, len(left), left)
					}
					if scope != "tree" {
						s.letGo(mark)
					}
				})
				if complete.Load() == 0 {
					t.Errorf("none of %d trees was complete when it ended", n)
				}
				s.finally(s.mechanism())
			})
		}
	}
}

// mechanism is that of the server's first job.
func (s *server) mechanism() string {
	var list struct{ Jobs []record }
	_, err := s.Tool(s.within(), "list", args{"limit": 1}, &list)
	s.must(err)
	r := s.status(list.Jobs[0].JobID)
	s.t.Logf("%s: %+v", r.Mechanism, r.Guarantee)
	return r.Mechanism
}

// finally looks once more for what an earlier look may have missed between a
// fork and an exec.
func (s *server) finally(mechanism string) {
	s.t.Helper()
	if mechanism != "process_group" {
		s.wantNone("after all rounds")
	}
}

// TestTreeEndsWithTheServer ends servers that have a hostile tree.
func TestTreeEndsWithTheServer(t *testing.T) {
	for _, u := range users() {
		for _, c := range []struct {
			name   string
			end    func(s *server)
			status int
			scope  func(g guarantee) string
		}{
			{"end of input", func(s *server) { s.must(s.CloseInput()) }, 0, func(g guarantee) string { return g.Kill }},
			{"SIGTERM", func(s *server) { s.must(s.Process().Signal(syscall.SIGTERM)) }, 0, func(g guarantee) string { return g.Kill }},
			{"SIGHUP", func(s *server) { s.must(s.Process().Signal(syscall.SIGHUP)) }, 0, func(g guarantee) string { return g.Kill }},
			{"SIGKILL", func(s *server) { s.must(s.Process().Kill()) }, -1, func(g guarantee) string { return g.SupervisorDeath }},
		} {
			t.Run(u.name+"/"+c.name, func(t *testing.T) {
				n := rounds(t, 200)
				if c.name == "SIGHUP" {
					n = max(n/20, 3) // the same path as SIGTERM
				}
				pool(t, 4, n, func(t *testing.T, _ int) {
					s := serveAs(t, u)
					was := s.treeOf("tree-" + s.token)
					c.end(s)
					s.exits(c.status)
					s.survivors(was, c.scope(was.Guarantee), c.status == 0)
					s.letGo("tree-" + s.token)
				})
			})
		}
	}
}

// pool runs n rounds of a test, several at a time, until one fails.
func pool(t *testing.T, workers, n int, round func(t *testing.T, i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				t.Run(fmt.Sprint(i), func(t *testing.T) { round(t, i) })
			}
		})
	}
	for i := range n {
		if next <- i; t.Failed() {
			break
		}
	}
	close(next)
	wg.Wait()
}

// treeOf starts a hostile tree, waits until it is complete, and gives its
// record.
func (s *server) treeOf(mark string) record {
	s.t.Helper()
	j := s.tool("run", s.hostile("stay", mark))
	s.line(j.JobID, "ready")
	r := s.status(j.JobID)
	s.claims(r)
	return r
}

// survivors wants none after the server's end: at once when it ended in an
// orderly way, else as soon as its guardian could act.
func (s *server) survivors(was record, scope string, atOnce bool) {
	s.t.Helper()
	left := func() []process { return promised(scope, was.PID, s.jobs()) }
	if !atOnce {
		waitNone(s.t, was.Mechanism+", "+scope, left)
	} else if found := left(); len(found) > 0 {
		s.t.Errorf("%s, %s: %d survivors: %v", was.Mechanism, scope, len(found), found)
	}
}
