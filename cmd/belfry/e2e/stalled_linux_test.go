package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A client that asks and does not read costs the shared server no more than a
// bounded memory, and the others nothing: its job goes on, and they are answered.
func TestClientThatStopsReading(t *testing.T) {
	t.Parallel()
	need(t, "yes")
	const printed = 100 << 20
	b := serve(t, setup{change: func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, "--shared") }})
	me := personOf(t, b)
	t.Cleanup(func() { me.does("daemon", "stop") })
	var daemon struct{ PID int }
	b.must(json.Unmarshal([]byte(me.does("daemon", "status", "--json")), &daemon))
	b.end(b.begin(shell("yes | head -c 1000000")).JobID) // what is made once is made
	before := memory(t, daemon.PID, "VmRSS")

	a := mute(t, b)
	id := a.run(fmt.Sprintf("yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c %d", printed))
	a.ask(id)
	if r := b.end(id); r.State != "exited" || r.Counts.StdoutBytes != printed {
		t.Errorf("%+v", r)
	}
	grown := memory(t, daemon.PID, "VmHWM") - before
	t.Logf("the server has grown by %.1f MiB", float64(grown)/1024)
	if !raceEnabled && grown > 64<<10 {
		t.Errorf("the server has grown by %d KiB, more than 64 MiB", grown)
	}
}

// mutes is a client that asks and does not read the replies.
type mutes struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

// mute starts one beside the clients of another server.
func mute(t *testing.T, beside *server) *mutes {
	t.Helper()
	cmd := beside.command(setup{})
	cmd.Args = append(cmd.Args, "--shared")
	in, err := cmd.StdinPipe()
	beside.must(err)
	out, err := cmd.StdoutPipe()
	beside.must(err)
	beside.must(cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // It answers nobody who does not read.
		_ = cmd.Wait()
	})
	m := &mutes{t: t, in: in, out: bufio.NewReader(out)}
	m.say(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"mute","version":"1"}}}`)
	m.hear(`"open"`)
	m.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return m
}

func (m *mutes) say(line string) {
	m.t.Helper()
	if _, err := io.WriteString(m.in, line+"\n"); err != nil {
		m.t.Fatal(err)
	}
}

// hear reads up to a line that has a word.
func (m *mutes) hear(word string) string {
	m.t.Helper()
	for {
		line, err := m.out.ReadString('\n')
		if err != nil {
			m.t.Fatal(err)
		}
		if strings.Contains(line, word) {
			return line
		}
	}
}

// run starts a job, the last of which it reads the reply.
func (m *mutes) run(line string) (id string) {
	m.t.Helper()
	arguments, err := json.Marshal(map[string]any{"command": line, "shell": true})
	if err != nil {
		m.t.Fatal(err)
	}
	m.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"run","method":"tools/call","params":{"name":"run","arguments":%s}}`, arguments))
	var reply struct {
		Result struct {
			StructuredContent record `json:"structuredContent"`
		}
	}
	if err := json.Unmarshal([]byte(m.hear(`"run"`)), &reply); err != nil {
		m.t.Fatal(err)
	}
	return reply.Result.StructuredContent.JobID
}

// ask asks for what a job says, in each way there is, as far as anybody listens:
// to be told of it, to wait for it, and for all of it.
func (m *mutes) ask(id string) {
	lines := []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":"told","method":"resources/subscribe","params":{"uri":"belfry://jobs/%s/output"}}`, id)}
	for i := range 20 {
		lines = append(lines,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":"resources/read","params":{"uri":"belfry://jobs/%s/output"}}`, i, id),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"f%d","method":"tools/call","params":{"name":"follow","arguments":{"job_id":%q,"cursor":0}}}`, i, id),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"o%d","method":"tools/call","params":{"name":"output","arguments":{"job_id":%q,"after_cursor":0,"max_bytes":1048576}}}`, i, id))
	}
	go func() {
		for {
			for _, line := range lines {
				if _, err := io.WriteString(m.in, line+"\n"); err != nil {
					return // the test is over
				}
			}
		}
	}()
}

// memory reads a field of /proc/PID/status, in KiB.
func memory(t *testing.T, pid int, field string) (n int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s of %d", field, pid)
	return 0
}
