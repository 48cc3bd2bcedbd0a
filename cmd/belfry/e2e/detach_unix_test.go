//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A server is killed, or ends in order, while its job prints: the next one has
// every line once, under the numbers that the first gave them, and the exit code.
func TestDetachedJobIsAdopted(t *testing.T) {
	need(t, "sh")
	for name, end := range map[string]func(*server){"killed": (*server).killed, "in order": (*server).leaves} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := setup{args: []string{"--detach-jobs"}}
			s := serve(t, all)
			id := s.begin(s.twoParts("go"), args{"label": "two parts"}).JobID
			s.line(id, "half")
			before, cursor := s.pages(id, 0)
			end(s)
			s.open("go")
			next := s.again(setup{}) // which jobs of its own would not outlive
			r := next.end(id)
			next.exited(r, 9)
			rest, _ := next.pages(id, cursor)
			next.wholeOf(append(before, rest...))
			again, _ := next.pages(id, 0)
			next.wholeOf(again)
			if c := r.Counts; c.StdoutLines+c.StderrLines != 1001 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// What ended while no server was there is known to the next, and to one after it.
func TestDetachedEndUnseen(t *testing.T) {
	need(t, "sh")
	s := serve(t, setup{})
	id := s.begin(s.twoParts("go"), detached).JobID
	s.line(id, "half")
	s.killed()
	s.open("go")
	s.wait(id)
	for range 2 {
		s.wholeOf(numbered(s.leftBehind(id, "exited", "n1\n")))
		s = s.again(setup{})
		s.exited(s.status(id), 9)
		lines, _ := s.pages(id, 0)
		s.wholeOf(lines)
		s.leaves()
	}
}

// Whoever follows the output hears all of it once, whatever becomes of servers.
func TestDetachedLogsGoOn(t *testing.T) {
	need(t, "sh")
	for name, end := range map[string]func(*server){"killed": (*server).killed, "in order": (*server).leaves} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, setup{})
			id := s.begin(s.twoParts("go"), detached).JobID
			s.line(id, "half")
			cmd := exec.CommandContext(s.within(), s.exe, "logs", "-f", "--json", id)
			cmd.Env, cmd.Stderr = s.env(setup{}), os.Stderr
			out, err := cmd.StdoutPipe()
			s.must(err)
			s.must(cmd.Start())
			var lines []string
			for in := json.NewDecoder(out); ; {
				var l struct {
					Seq          int
					Stream, Text string
				}
				if err := in.Decode(&l); err != nil {
					break // the end; that it came too early is seen below
				}
				lines = append(lines, fmt.Sprintf("%d %s %s", l.Seq, l.Stream, l.Text))
				if l.Text == "half" {
					end(s)
					s.open("go")
				}
			}
			s.must(cmd.Wait())
			s.wholeOf(lines)
		})
	}
}

// leftBehind wants a person to see a job that has ended while no server has it,
// and gives what it said.
func (s *server) leftBehind(id, state, begins string) string {
	s.t.Helper()
	jobs := s.cli(0, "jobs", "--json")
	if !strings.Contains(jobs, `"job_id":"`+id+`","state":"`+state+`"`) || !strings.Contains(jobs, `"health":"ended"`) {
		s.t.Errorf("belfry jobs:\n%s", jobs)
	}
	if live := s.cli(0, "jobs", "--live", "--json"); strings.Contains(live, `"job_id"`) {
		s.t.Errorf("belfry jobs --live:\n%s", live)
	}
	said := s.cli(0, "logs", id)
	if !strings.Contains(said, begins) {
		s.t.Errorf("belfry logs:\n%.300s", said)
	}
	return said
}

// An adopted job is killed as ever, the whole of it and by force, and by a
// signal of one's choice.
func TestDetachedKill(t *testing.T) {
	s := serve(t, setup{})
	hard := s.ready(helper("stubborn"), detached)
	soft := s.ready(helper("stubborn"), detached)
	s.killed()
	next := s.again(setup{})
	r := next.status(hard.JobID)
	if r.State != "running" || r.PID != hard.PID || r.Guarantee != hard.Guarantee || r.Mechanism != hard.Mechanism {
		t.Errorf("adopted as %+v, was %+v", r, hard)
	}
	next.must(syscall.Kill(hard.PID, syscall.SIGSTOP))
	next.stopped(hard.JobID)
	if r = next.kill(hard.JobID, args{"grace_ms": 10}); r.State != "killed" || r.Signal != "SIGKILL" || r.KillConfirmed == nil || !*r.KillConfirmed {
		t.Errorf("%+v", r)
	}
	if r = next.kill(soft.JobID, args{"signal": "SIGKILL"}); r.State != "killed" || r.EndedBy != "kill" {
		t.Errorf("%+v", r)
	}
	next.wantNone("after two kills")
}

// While no server has it, a person sees, reads and stops it by its own supervisor;
// the next server knows how it ended.
func TestDetachedJobIsStopped(t *testing.T) {
	s := serve(t, setup{})
	id := s.ready(helper("stubborn"), detached).JobID
	s.killed()
	if out := s.cli(0, "jobs", "--json"); !strings.Contains(out, `"job_id":"`+id+`","state":"running"`) {
		t.Errorf("belfry jobs:\n%s", out)
	}
	if out := s.cli(0, "logs", id); out != "ready\n" {
		t.Errorf("belfry logs:\n%s", out)
	}
	s.cli(0, "stop", "--now", id)
	s.leftBehind(id, "killed", "ready\n")
	if out := s.cli(0, "stop", id); !strings.Contains(out, "had ended: killed SIGKILL") {
		t.Errorf("belfry stop of what has ended:\n%s", out)
	}
	next := s.again(setup{})
	if r := next.status(id); r.State != "killed" || r.EndedBy != "kill" || r.Signal != "SIGKILL" {
		t.Errorf("%+v", r)
	}
}

// A deadline passes while no server is there.
func TestDetachedDeadline(t *testing.T) {
	s := serve(t, setup{})
	id := s.begin(helper("stubborn"), detached, args{"deadline_ms": 1500}).JobID
	s.running(id)
	s.killed()
	s.wait(id)
	next := s.again(setup{})
	if r := next.status(id); r.State != "failed" || r.EndedBy != "deadline" || r.Diagnostic.Code != "deadline" {
		t.Errorf("%+v", r)
	}
	next.wantNone("after the deadline")
}

// Of two servers of one user one has the job; when it is gone the other takes it.
func TestDetachedJobHasOneOwner(t *testing.T) {
	s := serve(t, setup{})
	id := s.ready(helper("stubborn"), detached).JobID
	other := s.again(setup{})
	if text := other.refused("status", args{"job_id": id}); !strings.Contains(text, id) {
		t.Error(text)
	}
	if n := other.listed(); n != 0 {
		t.Errorf("the other lists %d jobs", n)
	}
	if out := s.cli(0, "jobs", "--json"); strings.Count(out, "\n") != 1 || !strings.Contains(out, id) {
		t.Errorf("belfry jobs:\n%s", out)
	}
	s.killed()
	if n := other.listed(); n != 1 {
		t.Errorf("the other lists %d jobs", n)
	}
	// As many as there are ask at once: one of them gets it.
	more := []*server{other.again(setup{}), other.again(setup{})}
	for _, m := range more {
		m.refused("status", args{"job_id": id})
	}
	other.killed()
	found := make(chan *server, len(more))
	for _, m := range more {
		go func() {
			var r record
			_, err := m.Tool(context.Background(), "status", args{"job_id": id}, &r)
			if err != nil {
				m = nil
			}
			found <- m
		}()
	}
	var owner *server
	for range more {
		if m := <-found; m != nil {
			if owner != nil {
				t.Error("both have it")
			}
			owner = m
		}
	}
	if owner == nil {
		t.Fatal("nobody has it")
	}
	owner.kill(id, args{"grace_ms": 0})
	for _, m := range more {
		m.leaves()
	}
}

// The supervisor is killed: what it had started ends with it, and the job is lost.
func TestDetachedSupervisorKilled(t *testing.T) {
	s := serve(t, setup{})
	r := s.ready(helper("stubborn"), detached)
	if r.Guarantee.SupervisorDeath != "tree" && r.Guarantee.SupervisorDeath != "group" {
		t.Skipf("here nothing ends with its supervisor: %+v", r.Guarantee)
	}
	s.must(syscall.Kill(s.supervisor(r.JobID), syscall.SIGKILL))
	end := s.end(r.JobID)
	if end.State != "failed" || end.EndedBy != "lost" || end.Diagnostic.Code != "lost" {
		t.Errorf("%+v", end)
	}
	s.cli(0, "prune") // what it could not take away itself
}

// Where it cannot be done nothing runs, and the reason and the remedy are told.
func TestDetachRefused(t *testing.T) {
	s := prepare(t, setup{})
	s.must(os.WriteFile(s.path("file"), nil, 0o600))
	s.start(setup{env: map[string]string{"BELFRY_STATE_DIR": s.path("file")}})
	id := s.tool("run", s.runArgs(helper("stubborn"), detached)).JobID
	r := s.end(id)
	if r.State != "failed" || r.Diagnostic.Reason != "spawn-error" || r.Diagnostic.Code != "detach_unavailable" ||
		!strings.Contains(r.Diagnostic.Message, "BELFRY_STATE_DIR") {
		t.Errorf("%+v %+v", r, r.Diagnostic)
	}
	if text := s.refused("run", s.runArgs(helper("stubborn"), detached, args{"end_with_client": true})); !strings.Contains(text, "exclude") {
		t.Error(text)
	}
	s.wantNone("after refusals")
}
