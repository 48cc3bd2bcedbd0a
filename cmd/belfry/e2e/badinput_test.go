package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/server/client"
)

// A line that is no request is answered as such, and the next one is heard.
func TestMalformedLines(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	const parse, invalid = -32700, -32600
	for _, c := range []struct {
		line string
		code int
	}{
		{``, parse},
		{`   `, parse},
		{`{`, parse},
		{`nonsense`, parse},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, parse},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff", parse},
		{"\x00\x01\x02", parse},
		{`5`, invalid},
		{`"ping"`, invalid},
		{`null`, invalid},
		{`[]`, invalid},
		{`{}`, invalid},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, invalid},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, invalid},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, invalid},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, invalid},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, invalid},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, invalid},
		{strings.Repeat("[", 100_000), parse},
		{strings.Repeat(`{"a":`, 100_000), parse},
	} {
		s.must(s.WriteLine([]byte(c.line)))
		s.pings()
		select {
		case e := <-s.Refusals():
			if e.Code != c.code {
				t.Errorf("%.60q: %v, want %d", c.line, &e, c.code)
			}
		default:
			t.Errorf("%.60q was not answered", c.line)
		}
	}
	if e, ok := next(s.Refusals()); ok {
		t.Errorf("one answer too many: %v", &e)
	}
}

func next(c <-chan client.Error) (client.Error, bool) {
	select {
	case e := <-c:
		return e, true
	default:
		return client.Error{}, false
	}
}

// pings wants the server to hear and to answer.
func (s *server) pings() {
	s.t.Helper()
	if _, err := s.Call(s.within(), "ping", nil, nil); err != nil {
		s.t.Fatal(err)
	}
}

// A request may take 16 MiB; a longer line is refused whole and costs nothing
// but itself.
func TestHugeLines(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	line := func(size int) []byte {
		head, tail := `{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"list","arguments":{"x":"`, `"}}}`
		return []byte(head + strings.Repeat("a", size-len(head)-len(tail)) + tail)
	}
	for _, size := range []int{1 << 20, 15 << 20} {
		p, err := s.SendID(`"big"`, "tools/call", args{"name": "list", "arguments": args{"x": strings.Repeat("a", size)}})
		s.must(err)
		if a, err := p.WaitTool(s.within()); err != nil || a.IsError {
			t.Errorf("%d bytes: %+v %v", size, a, err)
		}
	}
	for _, size := range []int{16<<20 + 1, 40 << 20} {
		s.must(s.WriteLine(line(size)))
		s.pings()
		if e, ok := next(s.Refusals()); !ok || e.Code != -32600 {
			t.Errorf("%d bytes: %v %v", size, ok, &e)
		}
	}
}

// Every mistake in an argument is a refusal that names the argument, and there
// is no job.
func TestArgumentMistakes(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	j := s.begin([]string{"true"})
	s.end(j.JobID)
	run := func(more args) args {
		a := args{"command": []string{"true"}}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	of := func(more args) args {
		a := args{"job_id": j.JobID}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	count := 0
	for _, c := range []struct {
		tool, names string
		a           any
	}{
		{"run", "command", args{}},
		{"run", "command", args{"command": nil}},
		{"run", "command", args{"command": []string{}}},
		{"run", "command", args{"command": []string{""}}},
		{"run", "command", args{"command": []any{1}}},
		{"run", "command", args{"command": "true"}},
		{"run", "command", args{"command": "", "shell": true}},
		{"run", "command", args{"command": []string{" ", " "}, "shell": true}},
		{"run", "shell", run(args{"shell": "yes"})},
		{"run", "cwd", run(args{"cwd": 5})},
		{"run", "env", run(args{"env": "PATH=/"})},
		{"run", "mode", run(args{"env": args{"mode": "keep"}})},
		{"run", "vars", run(args{"env": args{"vars": []string{"A=b"}}})},
		{"run", "A", run(args{"env": args{"vars": args{"A": 5}}})},
		{"run", "label", run(args{"label": strings.Repeat("l", 65)})},
		{"run", "label", run(args{"label": "a\nb"})},
		{"run", "label", run(args{"label": 7})},
		{"run", "deadline_ms", run(args{"deadline_ms": 0})},
		{"run", "deadline_ms", run(args{"deadline_ms": -1})},
		{"run", "deadline_ms", run(args{"deadline_ms": int64(2147483648)})},
		{"run", "deadline_ms", run(args{"deadline_ms": "5"})},
		{"run", "on_exit", run(args{"on_exit": "stay"})},
		{"run", "merge_stderr", run(args{"merge_stderr": 1})},
		{"status", "job_id", args{}},
		{"status", "job_id", args{"job_id": ""}},
		{"status", "job_id", args{"job_id": 5}},
		{"output", "job_id", args{}},
		{"output", "stream", of(args{"stream": "stdin"})},
		{"output", "after_cursor", of(args{"after_cursor": -1})},
		{"output", "after_cursor", of(args{"after_cursor": 1.5})},
		{"output", "limit", of(args{"limit": 0})},
		{"output", "limit", of(args{"limit": "all"})},
		{"output", "max_bytes", of(args{"max_bytes": "many"})},
		{"tail", "lines", of(args{"lines": 0})},
		{"tail", "lines", of(args{"lines": 2.5})},
		{"follow", "cursor", of(args{"cursor": -1})},
		{"follow", "timeout_ms", of(args{"timeout_ms": 0})},
		{"follow", "timeout_ms", of(args{"timeout_ms": "long"})},
		{"kill", "signal", of(args{"signal": ""})},
		{"kill", "signal", of(args{"signal": 9})},
		{"kill", "grace_ms", of(args{"grace_ms": -1})},
		{"kill", "wait", of(args{"wait": "no"})},
		{"list", "state", args{"state": "dead"}},
		{"list", "limit", args{"limit": 0}},
	} {
		p, err := s.SendTool(c.tool, c.a)
		s.must(err)
		a, err := p.WaitTool(s.within())
		if err != nil {
			t.Errorf("%s %s: %v, want a tool's refusal", c.tool, compact(c.a), err)
			continue
		}
		if !a.IsError || !strings.Contains(a.Text, c.names) || a.Structured != nil {
			t.Errorf("%s %s: isError %v, structured %s, text %q; want a refusal that names %s",
				c.tool, compact(c.a), a.IsError, a.Structured, a.Text, c.names)
		}
		count++
	}
	var list struct{ Jobs []record }
	_, err := s.Tool(s.within(), "list", args{}, &list)
	s.must(err)
	if len(list.Jobs) != 1 {
		t.Errorf("%d mistakes made %d jobs", count, len(list.Jobs)-1)
	}
	// Not objects at all: the protocol's error.
	for _, params := range []string{`{"name":"list","arguments":[]}`, `{"name":"list","arguments":5}`, `{}`, `{"name":"nope","arguments":{}}`} {
		r, err := s.Call(s.within(), "tools/call", json.RawMessage(params), nil)
		if r.Err == nil || r.Err.Code != -32602 {
			t.Errorf("%s: %s %v", params, r.Result, err)
		}
	}
}

// A job that is not known is refused with its id and whose ids are known.
func TestUnknownJobs(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	for _, tool := range []string{"status", "output", "tail", "follow", "kill"} {
		for _, id := range []string{"nope", "00000000-0000-4000-8000-000000000000", "../../etc/passwd", strings.Repeat("x", 10_000), "\x00\n\u2028"} {
			text := s.refused(tool, args{"job_id": id})
			if !strings.Contains(text, tool) || len(text) > 2000 {
				t.Errorf("%s %.40q: %q", tool, id, text)
			}
			if id == "nope" && !strings.Contains(text, "nope") {
				t.Errorf("%s: %q does not name the id", tool, text)
			}
		}
	}
	s.pings()
}

// Arguments that the kernel cannot take are the job's failure, not the
// server's.
func TestArgumentsTheKernelRefuses(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	for _, c := range []struct {
		code    string
		command []string
		vars    map[string]string
	}{
		{"nul_in_argument", helper("argv", "a\x00b"), nil},
		{"nul_in_argument", helper("argv"), map[string]string{"A": "b\x00c"}},
		{"argument_list_too_long", helper("argv", strings.Repeat("x", 8<<20)), nil},
	} {
		a := []args{}
		if c.vars != nil {
			a = append(a, args{"vars": c.vars})
		}
		r := s.tool("run", s.runArgs(c.command, a...))
		if !r.terminal() {
			r = s.end(r.JobID)
		}
		if r.State != "failed" || r.Diagnostic == nil || r.Diagnostic.Code != c.code {
			t.Errorf("want %s: %s %+v", c.code, r.State, r.Diagnostic)
		}
	}
	s.exited(s.end(s.begin([]string{"true"}).JobID), 0)
}

// A text that no one would type does not confuse the pages.
func TestLongLines(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	const n = 3 << 20
	j := s.begin(helper("errors", fmt.Sprint(n)))
	r := s.end(j.JobID)
	s.exited(r, 0)
	if r.Counts.StderrBytes != n {
		t.Errorf("%d bytes were counted", r.Counts.StderrBytes)
	}
	answer, err := s.Tool(s.within(), "tail", args{"job_id": j.JobID, "lines": 1}, nil)
	s.must(err)
	if len(answer.Structured) > 12_288 || !bytes.Contains(answer.Structured, []byte(`"clipped":true`)) {
		t.Errorf("a page of %d bytes: %.200s", len(answer.Structured), answer.Structured)
	}
}
