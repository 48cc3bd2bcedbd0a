//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/server/client"
)

// A client that does not read for a while holds up its own replies and no job.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	const lines = 100_000
	s := serve(t, setup{})
	kept := s.begin(helper("lines", "5000"))
	s.end(kept.JobID)
	gate, told := newGate(s), newGate(s)
	flood := s.ready(shell(fmt.Sprintf(`%s; %s; echo over > "%s"`, gate.wait(), strings.Join(helper("lines", fmt.Sprint(lines)), " "), told.file)))
	s.Pause()
	var asked []*client.Pending
	for range 200 { // 40 MB and their text again: no pipe holds that
		p, err := s.SendTool("output", args{"job_id": kept.JobID, "max_bytes": 200_000})
		s.must(err)
		asked = append(asked, p)
	}
	gate.open()
	over := make(chan error, 1)
	go func() {
		_, err := told.hold.Read(make([]byte, 16))
		over <- err
	}()
	select {
	case err := <-over:
		s.must(err) // the job has said it all, and nobody has read a reply
	case <-time.After(guard):
		t.Error("a job waits for the client")
	}
	read := 0
	for _, p := range asked {
		select {
		case <-p.Done():
			read++
		default:
		}
	}
	if read > 1 { // the line that was being read, whichever reply that was
		t.Errorf("the client has read %d replies all the same", read)
	}
	s.Resume()
	for i, p := range asked {
		a, err := p.WaitTool(s.within())
		s.must(err)
		var got page
		s.must(json.Unmarshal(a.Structured, &got))
		if len(got.Events) < 1000 || got.Events[0].Seq != 1 {
			t.Fatalf("reply %d has %d lines", i, len(got.Events))
		}
	}
	r := s.end(flood.JobID)
	s.exited(r, 0)
	if r.Counts.StdoutLines != lines+1 || r.Counts.StdoutBytes != 80*lines+len("ready\n") {
		t.Errorf("%d lines, %d bytes were counted", r.Counts.StdoutLines, r.Counts.StdoutBytes)
	}
}

// A server that is not heard any more goes on with its jobs until its input
// ends, says then that something went wrong, and leaves no job.
func TestStdoutIsClosed(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	s.ready(helper("stubborn"))
	s.must(s.HangUp())
	s.blind(s.Client)
	s.must(s.CloseInput())
	s.exits(1)
	s.wantNone("after the server's end")
}

// blind runs jobs whose replies nobody hears, and sees that they run.
func (s *server) blind(c *client.Client) {
	s.t.Helper()
	heard := newGate(s)
	for range 3 {
		_, err := c.SendTool("run", s.runArgs(shell(fmt.Sprintf(`echo here > "%s"; sleep 300`, heard.file))))
		s.must(err)
		s.must(heard.hold.SetReadDeadline(time.Now().Add(guard)))
		_, err = heard.hold.Read(make([]byte, 16))
		s.must(err)
	}
}

// A full disk under stdout is no different.
func TestStdoutIsFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	s := prepare(t, setup{})
	cmd := s.command(setup{})
	cmd.Stdout = full
	in, err := cmd.StdinPipe()
	s.must(err)
	s.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	silence, quiet := io.Pipe()
	defer quiet.Close()
	c := client.New(silence, in)
	_, err = c.Send("initialize", args{"protocolVersion": "2025-11-25", "capabilities": args{}, "clientInfo": args{"name": "e2e", "version": "1"}})
	s.must(err)
	s.must(c.Notify("notifications/initialized", nil))
	s.blind(c)
	s.must(c.CloseInput())
	select {
	case err = <-ended:
	case <-time.After(guard):
		_ = cmd.Process.Kill()
		t.Fatalf("the server has not ended: %v", <-ended)
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(s.stderr.String(), "no space left") {
		t.Errorf("status %d (%v), stderr %q", code, err, s.stderr)
	}
	s.wantNone("after the server's end")
	s.noTraces()
}

// What the server has to say to people may get lost; the protocol does not.
func TestStderrIsFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	s := serve(t, setup{change: func(cmd *exec.Cmd) { cmd.Stderr = full }})
	s.exited(s.end(s.begin([]string{"true"}).JobID), 0)
	// A job that meets a full disk fails by itself.
	r := s.end(s.begin(shell("echo x > /dev/full")).JobID)
	if r.State != "exited" || r.code() == 0 || r.Counts.StderrBytes == 0 {
		t.Errorf("a job with a full disk: %+v", r)
	}
}

// A thousand jobs wait their turn, and each has it.
func TestThousandQueuedJobs(t *testing.T) {
	t.Parallel()
	n := 1000
	if testing.Short() || raceEnabled {
		n = 200
	}
	s := serve(t, setup{env: map[string]string{
		"BELFRY_MAX_CONCURRENT_JOBS": "1", "BELFRY_MAX_QUEUE_DEPTH": fmt.Sprint(n), "BELFRY_MAX_RETAINED_JOBS": fmt.Sprint(n),
	}})
	gate := newGate(s)
	first := s.ready(shell(gate.wait()))
	ids := make([]string, n)
	for i := range ids {
		r := s.begin([]string{"echo", fmt.Sprint(i)})
		if r.QueuePosition != i+1 {
			t.Fatalf("job %d has place %d", i, r.QueuePosition)
		}
		ids[i] = r.JobID
	}
	a, err := s.Tool(s.within(), "run", s.runArgs([]string{"true"}), nil)
	if err == nil || string(a.Structured) != `{"rejected":true,"reason":"queue-full"}` {
		t.Errorf("one job too many: %v %s", err, a.Structured)
	}
	gate.open()
	s.end(first.JobID)
	for i, id := range ids {
		s.exited(s.end(id), 0)
		if text := s.text(id, "stdout"); text != fmt.Sprintf("%d\n", i) {
			t.Errorf("job %d says %q", i, text)
		}
	}
}

// Many kills at once, of one job and of many, agree.
func TestParallelKills(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{env: map[string]string{"BELFRY_MAX_CONCURRENT_JOBS": "64"}})
	const jobs, kills = 40, 5
	var ids []string
	for range jobs {
		ids = append(ids, s.begin(shell("sleep 300 & sleep 300")).JobID)
	}
	var asked []*client.Pending
	for _, id := range ids {
		for i := range kills {
			p, err := s.SendTool("kill", args{"job_id": id, "grace_ms": 1000 * (i % 2)})
			s.must(err)
			asked = append(asked, p)
		}
	}
	for i, p := range asked {
		a, err := p.WaitTool(s.within())
		s.must(err)
		var r record
		if a.IsError || json.Unmarshal(a.Structured, &r) != nil || r.State != "killed" || !r.confirmed() || r.EndedBy != "kill" {
			t.Errorf("kill %d: %s %s", i, a.Text, a.Structured)
		}
	}
	s.wantNone("after the kills")
}
