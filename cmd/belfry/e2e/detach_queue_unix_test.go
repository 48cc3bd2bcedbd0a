//go:build unix

package e2e

import (
	"os"
	"strings"
	"testing"
)

// oneSlot is a server that runs one job at a time.
var oneSlot = setup{env: map[string]string{"BELFRY_MAX_CONCURRENT_JOBS": "1"}}

// queued has a job that runs until there is a file, and two behind it.
func (s *server) queued(gate string) (first string, behind []string) {
	s.t.Helper()
	first = s.begin(shell("echo on; until [ -e "+s.path(gate)+" ]; do sleep 0.02; done; exit 3"), detached).JobID
	s.line(first, "on")
	for _, code := range []string{"4", "5"} {
		r := s.tool("run", s.runArgs(shell("echo turn "+code+" >> "+s.path("turns")+"; exit "+code), detached))
		if r.State != "starting" || r.QueuePosition == 0 {
			s.t.Errorf("it does not wait: %+v", r)
		}
		behind = append(behind, r.JobID)
	}
	return first, behind
}

// turns is what has been written by those that had their turn.
func (s *server) turns() string {
	b, err := os.ReadFile(s.path("turns"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(b)
}

// haveTurns wants the two to have run, once each and in their order.
func (s *server) haveTurns(behind []string) {
	s.t.Helper()
	for i, id := range behind {
		s.exited(s.end(id), 4+i)
	}
	if got := s.turns(); got != "turn 4\nturn 5\n" {
		s.t.Errorf("%q", got)
	}
}

// What waits for a place when its server is killed, or ends in order, has its turn
// at the next one.
func TestDetachedQueueIsTakenUp(t *testing.T) {
	need(t, "sh")
	for name, end := range map[string]func(*server){"killed": (*server).killed, "in order": (*server).leaves} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, oneSlot)
			first, behind := s.queued("go")
			end(s)
			jobs := s.cli(0, "jobs", "--live", "--json")
			if strings.Count(jobs, `"state":"starting"`) != 2 || strings.Count(jobs, `"health":"waiting"`) != 2 {
				t.Errorf("belfry jobs:\n%s", jobs)
			}
			next := s.again(oneSlot)
			if n := next.listed(); n != 3 {
				t.Errorf("the next one lists %d", n)
			}
			for i, id := range behind {
				if r := next.status(id); r.State != "starting" || r.QueuePosition != i+1 {
					t.Errorf("%+v", r)
				}
			}
			s.open("go")
			next.exited(next.end(first), 3)
			next.haveTurns(behind)
		})
	}
}

// While no server has it a person takes away what waits, and it never runs.
func TestDetachedQueueIsStopped(t *testing.T) {
	need(t, "sh")
	s := serve(t, oneSlot)
	first, behind := s.queued("go")
	s.killed()
	if out := s.cli(0, "logs", "-f", behind[0]); out != "" {
		t.Errorf("belfry logs:\n%s", out)
	}
	if out := s.cli(0, "stop", behind[0]); !strings.Contains(out, "queue-cancelled") {
		t.Errorf("belfry stop:\n%s", out)
	}
	next := s.again(oneSlot)
	next.refused("status", args{"job_id": behind[0]})
	// A server does the same.
	if r := next.kill(behind[1]); r.State != "killed" || r.Signal != "queue-cancelled" {
		t.Errorf("%+v", r)
	}
	s.open("go")
	next.exited(next.end(first), 3)
	next.leaves()
	last := s.again(oneSlot)
	last.refused("status", args{"job_id": behind[1]})
	if got := s.turns(); got != "" {
		t.Errorf("it ran: %q", got)
	}
}
