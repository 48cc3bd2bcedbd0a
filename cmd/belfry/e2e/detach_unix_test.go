//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// detached starts a job that outlives its server.
var detached = args{"detach": true}

// twoParts prints n1 to n500, on stdout and every tenth on stderr, and goes on to
// n1000 once there is a file: nobody need be there then.
func (s *server) twoParts(gate string) []string {
	const part = `while [ $i -lt %d ]; do i=$((i+1)); case $i in *0) echo n$i >&2;; *) echo n$i;; esac; done; `
	return shell("i=0; " + fmt.Sprintf(part, 500) + "echo half; until [ -e " + s.path(gate) + " ]; do sleep 0.02; done; " +
		fmt.Sprintf(part, 1000) + "exit 9")
}

func (s *server) open(gate string) {
	s.t.Helper()
	s.must(os.WriteFile(s.path(gate), nil, 0o666))
}

// pages reads all that comes after a cursor, each line with its number.
func (s *server) pages(id string, cursor int) (lines []string, next int) {
	s.t.Helper()
	for {
		p := s.tool("output", args{"job_id": id, "after_cursor": cursor, "max_bytes": 1 << 20})
		for _, e := range p.Events {
			lines = append(lines, fmt.Sprintf("%d %s %s", e.Seq, e.Stream, e.Text))
		}
		if p.NextCursor <= cursor {
			return lines, cursor
		}
		cursor = p.NextCursor
	}
}

// wholeOf wants every line of twoParts once, with the numbers from 1 on.
func (s *server) wholeOf(lines []string) {
	s.t.Helper()
	if len(lines) != 1001 {
		s.t.Fatalf("%d lines, want 1001", len(lines))
	}
	var by [2][]string
	for i, l := range lines {
		f := strings.Fields(l)
		if f[0] != fmt.Sprint(i+1) {
			s.t.Fatalf("line %d has the number %s", i+1, f[0])
		}
		k := 0
		if f[1] == "stderr" {
			k = 1
		}
		by[k] = append(by[k], f[2])
	}
	var want [2][]string
	for i := 1; i <= 1000; i++ {
		k := 0
		if i%10 == 0 {
			k = 1
		}
		want[k] = append(want[k], fmt.Sprintf("n%d", i))
		if i == 500 {
			want[0] = append(want[0], "half")
		}
	}
	for k := range by {
		if got, want := strings.Join(by[k], " "), strings.Join(want[k], " "); got != want {
			s.t.Errorf("stream %d:\n%.300s\nwant\n%.300s", k, got, want)
		}
	}
}

// killed kills the server as nothing can be prepared for.
func (s *server) killed() {
	s.t.Helper()
	s.must(s.Process().Kill())
	s.gone()
}

// leaves ends the server in order.
func (s *server) leaves() {
	s.t.Helper()
	s.must(s.CloseInput())
	s.exits(0)
}

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
		if n := strings.Count(s.leftBehind(id, "exited", "n1\nn2\n"), "\n"); n != 1001 {
			t.Errorf("belfry logs has %d lines", n)
		}
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

// cli runs a verb in the surroundings of the server's.
func (s *server) cli(status int, verb ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.within(), s.exe, verb...)
	cmd.Env = s.env(setup{})
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != status {
		s.t.Fatalf("%v ended with status %d (%v), want %d\n%s", verb, got, err, status, out)
	}
	return string(out)
}

// wait waits for the end of the run behind a detached job.
func (s *server) wait(id string) {
	s.t.Helper()
	s.cli(0, "wait", "--run-id", id)
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

// stopped waits until a job is told to be stopped: nothing tells of that.
func (s *server) stopped(id string) {
	s.t.Helper()
	for end := time.Now().Add(guard); ; <-time.After(5 * time.Millisecond) {
		var r struct{ Stopped bool }
		if _, err := s.Tool(s.within(), "status", args{"job_id": id}, &r); err != nil || time.Now().After(end) {
			s.t.Fatalf("job %s is not told to be stopped: %v", id, err)
		}
		if r.Stopped {
			return
		}
	}
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

func (s *server) listed() int {
	s.t.Helper()
	var l struct{ Jobs []json.RawMessage }
	_, err := s.Tool(s.within(), "list", args{}, &l)
	s.must(err)
	return len(l.Jobs)
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

// supervisor finds the process that supervises a job.
func (s *server) supervisor(id string) int {
	s.t.Helper()
	found := 0
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	s.must(err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(text), "supervise\x00") && strings.HasSuffix(string(text), id+"\x00") {
			fmt.Sscanf(name, "/proc/%d/", &found)
		}
	}
	if found == 0 {
		s.t.Skip("the processes of this system cannot be looked at")
	}
	return found
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
