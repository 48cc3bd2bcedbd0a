//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// numbered is what twoParts has said, as a person is shown it, in the form of pages:
// the order between its streams is nobody's.
func numbered(said string) (lines []string) {
	for text := range strings.Lines(said) {
		stream := "stdout"
		if text = strings.TrimSuffix(text, "\n"); strings.HasSuffix(text, "0") {
			stream = "stderr"
		}
		lines = append(lines, fmt.Sprintf("%d %s %s", len(lines)+1, stream, text))
	}
	return lines
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

func (s *server) listed() int {
	s.t.Helper()
	var l struct{ Jobs []json.RawMessage }
	_, err := s.Tool(s.within(), "list", args{}, &l)
	s.must(err)
	return len(l.Jobs)
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
