//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/server/client"
)

// What a quiet server says is short: it lands in a model's context.
func TestQuietRepliesAreShort(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{env: map[string]string{"BELFRY_MAX_QUEUE_DEPTH": "60"}})
	budget := func(what string, got, most int) {
		t.Helper()
		t.Logf("%s: %d bytes of %d", what, got, most)
		if got > most {
			t.Errorf("%s takes %d bytes, more than %d", what, got, most)
		}
	}
	r, err := s.Call(s.within(), "tools/list", nil, nil)
	s.must(err)
	budget("tools/list", r.Size, 14<<10)
	j := s.begin([]string{"sleep", "300"})
	s.running(j.JobID)
	budget("status", structured(s, "status", args{"job_id": j.JobID}), 600)
	budget("empty read", structured(s, "output", args{"job_id": j.JobID}), 120)
	for range 49 {
		s.begin([]string{"sleep", "300"})
	}
	budget("list of 50", structured(s, "list", args{}), 9<<10)
}

// structured is the length of a tool's compact structured content.
func structured(s *server, name string, a args) int {
	s.t.Helper()
	answer, err := s.Tool(s.within(), name, a, nil)
	s.must(err)
	var b bytes.Buffer
	s.must(json.Compact(&b, answer.Structured))
	return b.Len()
}

// Jobs that end at the same time are each told once, with their own code.
func TestManyEndTogether(t *testing.T) {
	t.Parallel()
	const n = 20
	s := serve(t, setup{env: map[string]string{"BELFRY_MAX_CONCURRENT_JOBS": strconv.Itoa(n)}})
	gate := newGate(s)
	ids := make([]string, n)
	ends := make([]*client.Pending, n)
	for i := range n {
		ids[i] = s.ready(shell(gate.wait() + fmt.Sprintf("; exit %d", i))).JobID
	}
	for i, id := range ids {
		p, err := s.SendTool("follow", args{"job_id": id, "cursor": endOnly, "timeout_ms": longFollow})
		s.must(err)
		ends[i] = p
	}
	gate.open()
	for i, p := range ends {
		a, err := p.WaitTool(s.within())
		s.must(err)
		var r record
		s.must(json.Unmarshal(a.Structured, &r))
		if r.JobID != ids[i] || r.Reason != "terminal" || r.State != "exited" || r.code() != i {
			t.Errorf("job %d of %d: %+v", i, n, r)
		}
	}
}

// gate holds jobs back until it is opened.
type gate struct {
	s    *server
	file string
	hold *os.File
}

var gateCount atomic.Int64

func newGate(s *server) *gate {
	s.t.Helper()
	g := &gate{s: s, file: s.path(fmt.Sprintf("gate%d", gateCount.Add(1)))}
	s.must(syscall.Mkfifo(g.file, 0o666))
	var err error
	g.hold, err = os.OpenFile(g.file, os.O_RDWR, 0)
	s.must(err)
	s.t.Cleanup(func() { g.hold.Close() })
	return g
}

// wait is the shell's line that says "ready" and waits for the gate.
func (g *gate) wait() string {
	return fmt.Sprintf(`exec 3< "%s"; echo ready; read x <&3`, g.file)
}

// open lets all that wait go on, at once.
func (g *gate) open() {
	g.s.t.Helper()
	g.s.must(g.hold.Close())
}

// Neither a job's output nor its input gets into the protocol.
func TestJobsStayOutOfTheProtocol(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	const n = 2000
	forger := s.begin(helper("forge", strconv.Itoa(n)))
	reader := s.begin([]string{"cat"})
	s.exited(s.end(reader.JobID), 0) // its input is empty, not ours
	var asked []*client.Pending
	for range 200 {
		p, err := s.SendTool("status", args{"job_id": forger.JobID})
		s.must(err)
		asked = append(asked, p)
	}
	for _, p := range asked {
		a, err := p.WaitTool(s.within())
		s.must(err)
		var r record
		s.must(json.Unmarshal(a.Structured, &r))
		if r.JobID != forger.JobID {
			t.Fatalf("not the answer: %s", a.Structured)
		}
	}
	r := s.end(forger.JobID)
	s.exited(r, 0)
	if r.Counts.StdoutLines != n || r.Counts.StderrLines != n {
		t.Errorf("%d and %d lines, want %d each", r.Counts.StdoutLines, r.Counts.StderrLines, n)
	}
	// A forged reply on stdout would be a stray: see exits.
}

// Taking one call back takes back nothing else.
func TestCancelOneOfFive(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	gate := newGate(s)
	j := s.ready(shell(gate.wait() + "; echo hi; sleep 300"))
	follow := func() *client.Pending {
		p, err := s.SendTool("follow", args{"job_id": j.JobID, "cursor": 1, "timeout_ms": longFollow})
		s.must(err)
		return p
	}
	var five []*client.Pending
	for range 5 {
		five = append(five, follow())
	}
	s.must(s.Cancel(five[2]))
	if r := s.status(j.JobID); r.State != "running" {
		t.Errorf("after the cancel: %+v", r)
	}
	// 200 that are taken back leave room for one more: the places are free again.
	for range 200 {
		s.must(s.Cancel(follow()))
	}
	last := follow()
	if r := s.status(j.JobID); r.State != "running" {
		t.Errorf("after 201 cancels: %+v", r)
	}
	for i, p := range append(five[:2:2], five[3], five[4], last) {
		select {
		case <-p.Done():
			t.Errorf("follow %d has ended with the cancelled one", i)
		default:
		}
	}
	gate.open()
	for i, p := range append(five[:2:2], five[3], five[4], last) {
		a, err := p.WaitTool(s.within())
		s.must(err)
		if a.IsError || !strings.Contains(string(a.Structured), `"text":"hi"`) {
			t.Errorf("follow %d: %s %s", i, a.Text, a.Structured)
		}
	}
	s.kill(j.JobID)
	// An answer to a cancelled one would be a stray: see exits.
}
