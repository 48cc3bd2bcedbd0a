package server

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
)

// Every rule of every argument: what is refused names the argument and the
// rule, and leaves nothing behind.
func TestArgumentRules(t *testing.T) {
	th := newTheatre(t, nil, nil)
	id := th.run("")
	before := len(th.call("list", "")["jobs"].([]any))
	for _, c := range []struct{ tool, args, want string }{
		{"run", ``, "run: command is required"},
		{"run", `{"command":[]}`, "command must be an array of at least one string"},
		{"run", `{"command":""}`, "command must be an array of strings, not a string; pass shell: true"},
		{"run", `{"command":"make all","shell":false}`, "pass shell: true"},
		{"run", `{"command":null}`, "command must be an array of strings, not null"},
		{"run", `{"command":5}`, "not a number"},
		{"run", `{"command":{"a":1}}`, "not an object"},
		{"run", `{"command":["echo",5]}`, "command[1] must be a string, not a number"},
		{"run", `{"command":[["echo"]]}`, "command[0] must be a string, not an array"},
		{"run", `{"command":[""]}`, "command must name a program"},
		{"run", `{"command":["", "x"]}`, "command must name a program"},
		{"run", `{"command":["a"],"command":[]}`, "at least one string"},
		{"run", `{"Command":["a"]}`, "command is required"},
		{"run", `{"command":"","shell":true}`, "command must not be blank"},
		{"run", `{"command":[""," "],"shell":true}`, "command must not be blank"},
		{"run", `{"command":[],"shell":true}`, "at least one string"},
		{"run", `{"command":["a\ud800"]}`, "command[0] must be valid Unicode"},
		{"run", "{\"command\":[\"echo\",\"\xff\xfe\"]}", "command[1] must be valid Unicode: it holds bytes that are not UTF-8"},
		{"run", "{\"command\":\"echo \xc3\",\"shell\":true}", "command must be valid Unicode"},
		{"run", "{\"command\":[\"a\"],\"cwd\":\"/\xed\xa0\x80\"}", "cwd must be valid Unicode"},
		{"run", "{\"command\":[\"a\"],\"label\":\"\x80\"}", "label must be valid Unicode"},
		{"run", "{\"command\":[\"a\"],\"env\":{\"vars\":{\"A\":\"\\n\xff\"}}}", "env.vars.A must be valid Unicode"},
		{"run", "{\"command\":[\"a\"],\"env\":{\"vars\":{\"A\xff\":\"\"}}}", "env.vars has a name that is not valid Unicode"},
		{"run", `{"command":["a"],"env":{"vars":{"A\ud800":""}}}`, "env.vars has a name that is not valid Unicode"},
		{"run", `{"command":["a"],"shell":"yes"}`, "shell must be a boolean, not a string"},
		{"run", `{"command":["a"],"shell":1}`, "shell must be a boolean, not a number"},
		{"run", `{"command":["a"],"cwd":5}`, "cwd must be a string, not a number"},
		{"run", `{"command":["a"],"cwd":["/"]}`, "cwd must be a string, not an array"},
		{"run", `{"command":["a"],"env":"A=1"}`, "env must be an object, not a string"},
		{"run", `{"command":["a"],"env":["A"]}`, "env must be an object, not an array"},
		{"run", `{"command":["a"],"env":{"mode":"inherit"}}`, `env.mode must be one of "merge", "replace", not "inherit"`},
		{"run", `{"command":["a"],"env":{"mode":1}}`, "env.mode must be a string"},
		{"run", `{"command":["a"],"env":{"vars":"x"}}`, "env.vars must be an object, not a string"},
		{"run", `{"command":["a"],"env":{"vars":["A"]}}`, "env.vars must be an object, not an array"},
		{"run", `{"command":["a"],"env":{"vars":{"B":"1","A":1}}}`, "env.vars.A must be a string, not a number"},
		{"run", `{"command":["a"],"env":{"vars":{"":"1"}}}`, "env.vars has a name that no environment can hold"},
		{"run", `{"command":["a"],"env":{"vars":{"A=B":"1"}}}`, "env.vars has a name that no environment can hold"},
		{"run", `{"command":["a"],"label":5}`, "label must be a string, not a number"},
		{"run", `{"command":["a"],"label":"` + strings.Repeat("x", 65) + `"}`, "label must have at most 64 characters"},
		{"run", `{"command":["a"],"label":"a\nb"}`, "label must not contain control characters"},
		{"run", `{"command":["a"],"label":"a\u0000b"}`, "label must not contain control characters"},
		{"run", `{"command":["a"],"label":"a\u007fb"}`, "label must not contain control characters"},
		{"run", `{"command":["a"],"label":"a\u0085b"}`, "label must not contain control characters"},
		{"run", `{"command":["a"],"deadline_ms":0}`, "deadline_ms must be a number of milliseconds above 0 and at most 2147483647"},
		{"run", `{"command":["a"],"deadline_ms":-5}`, "deadline_ms must be a number of milliseconds above 0"},
		{"run", `{"command":["a"],"deadline_ms":2147483648}`, "deadline_ms must be a number of milliseconds above 0"},
		{"run", `{"command":["a"],"deadline_ms":2147483647.5}`, "deadline_ms must be a number of milliseconds above 0"},
		{"run", `{"command":["a"],"deadline_ms":1e999}`, "deadline_ms must be a finite number"},
		{"run", `{"command":["a"],"deadline_ms":"100"}`, "deadline_ms must be a number, not a string"},
		{"run", `{"command":["a"],"on_exit":"stay"}`, `on_exit must be one of "reap", "wait"`},
		{"run", `{"command":["a"],"on_exit":null}`, "on_exit must be a string, not null"},
		{"run", `{"command":["a"],"merge_stderr":"no"}`, "merge_stderr must be a boolean"},
		{"run", `{"command":["a"],"contain":"best"}`, `contain must be one of "strict", "tree", "group", not "best"`},
		{"run", `{"command":["a"],"allow_weaker":1}`, "allow_weaker must be a boolean"},
		{"run", `{"command":["a"],"limits":[]}`, "limits must be an object, not an array"},
		{"run", `{"command":["a"],"limits":{"memory":4096}}`, "limits.memory is no limit; memory_bytes, tasks and cpus are"},
		{"run", `{"command":["a"],"limits":{"memory_bytes":0}}`, "limits.memory_bytes must be an integer of at least 1"},
		{"run", `{"command":["a"],"limits":{"memory_bytes":"1G"}}`, "limits.memory_bytes must be an integer, not a string"},
		{"run", `{"command":["a"],"limits":{"memory_bytes":9007199254740993}}`, "limits.memory_bytes must be from 1 to"},
		{"run", `{"command":["a"],"limits":{"tasks":0}}`, "limits.tasks must be an integer of at least 1"},
		{"run", `{"command":["a"],"limits":{"tasks":1.5}}`, "limits.tasks must be an integer"},
		{"run", `{"command":["a"],"limits":{"cpus":0}}`, "limits.cpus must be a number of processors above 0"},
		{"run", `{"command":["a"],"limits":{"cpus":-1}}`, "limits.cpus must be a number of processors above 0"},
		{"run", `{"command":["a"],"limits":{"cpus":1e999}}`, "limits.cpus must be a finite number"},

		{"list", `{"state":"dead"}`, `state must be one of "starting", "running", "exited", "killed", "failed", not "dead"`},
		{"list", `{"limit":0}`, "limit must be an integer of at least 1"},
		{"list", `{"limit":"7"}`, "limit must be an integer, not a string"},

		{"output", `{"job_id":ID,"stream":"all"}`, `stream must be one of "both", "stdout", "stderr", not "all"`},
		{"output", `{"job_id":ID,"after_cursor":-1}`, "after_cursor must be an integer of at least 0"},
		{"output", `{"job_id":ID,"after_cursor":1.5}`, "after_cursor must be an integer"},
		{"output", `{"job_id":ID,"after_cursor":"0"}`, "after_cursor must be an integer, not a string"},
		{"output", `{"job_id":ID,"after_cursor":1e999}`, "after_cursor must be an integer"},
		{"output", `{"job_id":ID,"limit":0}`, "limit must be an integer of at least 1"},
		{"output", `{"job_id":ID,"limit":-1}`, "limit must be an integer of at least 1"},
		{"output", `{"job_id":ID,"limit":2.5}`, "limit must be an integer"},
		{"output", `{"job_id":ID,"max_bytes":"9"}`, "max_bytes must be an integer, not a string"},
		{"output", `{"job_id":ID,"max_bytes":9.5}`, "max_bytes must be an integer"},
		{"output", `{"job_id":ID,"timestamps":1}`, "timestamps must be a boolean"},
		{"output", `{"job_id":ID,"include_pending":"true"}`, "include_pending must be a boolean"},
		{"tail", `{"job_id":ID,"lines":0}`, "lines must be an integer of at least 1"},
		{"tail", `{"job_id":ID,"lines":-3}`, "lines must be an integer of at least 1"},
		{"tail", `{"job_id":ID,"lines":1.5}`, "lines must be an integer"},
		{"tail", `{"job_id":ID,"stream":1}`, "stream must be a string, not a number"},
		{"follow", `{"job_id":ID,"cursor":-1}`, "cursor must be an integer of at least 0"},
		{"follow", `{"job_id":ID,"cursor":0.5}`, "cursor must be an integer"},
		{"follow", `{"job_id":ID,"cursor":"1"}`, "cursor must be an integer, not a string"},
		{"follow", `{"job_id":ID,"stream":"x"}`, "stream must be one of"},
		{"follow", `{"job_id":ID,"timeout_ms":0}`, "timeout_ms must be an integer of at least 1"},
		{"follow", `{"job_id":ID,"timeout_ms":-1}`, "timeout_ms must be an integer of at least 1"},
		{"follow", `{"job_id":ID,"timeout_ms":1.5}`, "timeout_ms must be an integer"},
		{"follow", `{"job_id":ID,"timeout_ms":"5"}`, "timeout_ms must be an integer, not a string"},
		{"kill", `{"job_id":ID,"signal":"SIGNOPE"}`, `kill: signal must be the name of a signal: unknown signal "SIGNOPE": known are `},
		{"kill", `{"job_id":ID,"signal":""}`, "signal must not be empty"},
		{"kill", `{"job_id":ID,"signal":9}`, "signal must be a string, not a number"},
		{"kill", `{"job_id":ID,"signal":null}`, "signal must be a string, not null"},
		{"kill", `{"job_id":ID,"signal":["SIGTERM"]}`, "signal must be a string, not an array"},
		{"kill", `{"job_id":ID,"grace_ms":-1}`, "grace_ms must be a number of milliseconds at least 0"},
		{"kill", `{"job_id":ID,"grace_ms":"0"}`, "grace_ms must be a number, not a string"},
		{"kill", `{"job_id":ID,"wait":"no"}`, "wait must be a boolean"},
	} {
		r := th.raw(c.tool, strings.ReplaceAll(c.args, "ID", `"`+id+`"`))
		if !r.IsError || r.Structured != nil || !strings.Contains(r.Text, c.want) || !strings.HasPrefix(r.Text, c.tool+": ") {
			t.Errorf("%s %s: got error %t, payload %s, text %q, want %q", c.tool, c.args, r.IsError, r.Structured, r.Text, c.want)
		}
	}
	for _, tool := range []string{"status", "output", "tail", "follow", "kill"} {
		for args, want := range map[string]string{
			``:                    "job_id is required",
			`{}`:                  "job_id is required",
			`{"JOB_ID":"x"}`:      "job_id is required",
			`{"job_id":""}`:       "job_id must not be empty",
			`{"job_id":5}`:        "job_id must be a string, not a number",
			`{"job_id":null}`:     "job_id must be a string, not null",
			`{"job_id":["x"]}`:    "job_id must be a string, not an array",
			`{"job_id":"no-job"}`: tool + `: unknown job_id "no-job". Job ids are scoped to this server process`,
		} {
			if r := th.raw(tool, args); !r.IsError || r.Structured != nil || !strings.Contains(r.Text, want) {
				t.Errorf("%s %s: got error %t, payload %s, text %q, want %q", tool, args, r.IsError, r.Structured, r.Text, want)
			}
		}
	}
	if after := len(th.call("list", "")["jobs"].([]any)); after != before {
		t.Errorf("%d jobs were created by calls that were refused", after-before)
	}
	if got := th.call("status", `{"job_id":"`+id+`"}`)["state"]; got != "running" {
		t.Errorf("the job is %v after refused kills, want running", got)
	}
}

// What a run's arguments come to.
func TestRunSpec(t *testing.T) {
	str := func(s string) *string { return &s }
	for _, c := range []struct {
		args string
		want job.Spec
	}{
		{`{"command":["a","b c",""],"unknown":[1,{}]}`, job.Spec{Command: []string{"a", "b c", ""}}},
		{`{"command":"x","command":["a"]}`, job.Spec{Command: []string{"a"}}},
		{`{"command":"a | b","shell":true}`, job.Spec{Command: []string{"a | b"}, Shell: true}},
		{`{"command":["a","|","b"],"shell":true}`, job.Spec{Command: []string{"a", "|", "b"}, Shell: true}},
		{`{"command":["é漢\ud83d\ude00\\\"\u0000\ufffd"]}`, job.Spec{Command: []string{"é漢😀\\\"\x00\ufffd"}}},
		{`{"command":["a"],"contain":"tree","allow_weaker":true,"limits":{"memory_bytes":4096,"tasks":3,"cpus":0.25}}`,
			job.Spec{Command: []string{"a"}, Contain: job.ContainTree, AllowWeaker: true, Limits: job.Limits{MemoryBytes: 4096, Tasks: 3, CPUs: 0.25}}},
		{`{"command":["a"],"limits":{}}`, job.Spec{Command: []string{"a"}}},
		{`{"command":["a"],"cwd":"","label":""}`, job.Spec{Command: []string{"a"}, Dir: str(""), Label: str("")}},
		{`{"command":["a"],"label":"` + strings.Repeat("😀", 64) + `"}`, job.Spec{Command: []string{"a"}, Label: str(strings.Repeat("😀", 64))}},
		{`{"command":["a"],"env":{}}`, job.Spec{Command: []string{"a"}}},
		{`{"command":["a"],"env":{"vars":{}}}`, job.Spec{Command: []string{"a"}, Env: job.Env{Vars: map[string]string{}}}},
		{`{"command":["a"],"env":{"mode":"replace","vars":{"A":"1","B":""},"x":0}}`,
			job.Spec{Command: []string{"a"}, Env: job.Env{Replace: true, Vars: map[string]string{"A": "1", "B": ""}}}},
		{`{"command":["a"],"env":{"vars":{"\ufffd\ud83d\ude00":"1"}}}`, job.Spec{Command: []string{"a"}, Env: job.Env{Vars: map[string]string{"\ufffd😀": "1"}}}},
		{`{"command":["a"],"deadline_ms":60000.5}`, job.Spec{Command: []string{"a"}, Deadline: 60000500 * time.Microsecond}},
		{`{"command":["a"],"deadline_ms":2147483647}`, job.Spec{Command: []string{"a"}, Deadline: job.MaxDeadline}},
		{`{"command":["a"],"deadline_ms":1e-9}`, job.Spec{Command: []string{"a"}, Deadline: 1}},
		{`{"command":["a"],"on_exit":"wait","merge_stderr":true}`, job.Spec{Command: []string{"a"}, OnExit: job.Wait, MergeStderr: true}},
	} {
		a := parseArgs(json.RawMessage(c.args))
		got := runSpec(a)
		if a.err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v, error %v\nwant %+v", c.args, got, a.err, c.want)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"-0", 0, true}, {"7", 7, true}, {"7.0", 7, true}, {"70e-1", 7, true}, {"1e3", 1000, true},
		{"9007199254740993", 9007199254740993, true}, {"9223372036854775807", math.MaxInt64, true},
		{"9223372036854775808", math.MaxInt64, true}, {"1e300", math.MaxInt64, true}, {"-1e300", math.MinInt64, true},
		{"99999999999", 99999999999, true}, {"1e999", 0, false}, {"0.5", 0, false}, {"7.25", 0, false},
	} {
		a := parseArgs(json.RawMessage(`{"n":` + c.raw + `}`))
		if got, ok := a.integer("n", math.MinInt64); got != c.want || ok != c.ok || (a.err == nil) != c.ok {
			t.Errorf("%s: got %d, %t, error %v; want %d, %t", c.raw, got, ok, a.err, c.want, c.ok)
		}
	}
	for raw, want := range map[string]int{
		"-5": job.MinBudget, "0": job.MinBudget, "511": job.MinBudget, "512": 512, "70000": 70000, "1e12": job.MaxBudget,
	} {
		if got := parseArgs(json.RawMessage(`{"max_bytes":` + raw + `}`)).budget(); got != want {
			t.Errorf("max_bytes %s counts as %d, want %d", raw, got, want)
		}
	}
	if got := parseArgs(nil).budget(); got != job.DefaultBudget {
		t.Errorf("without max_bytes the budget is %d", got)
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"command":["a"],"env":{"vars":{"A":"\ud800"}},"deadline_ms":1.5e3}`)
	f.Add(`{"command":"a\\\u","shell":true,"after_cursor":-1e99,"job_id":"\ud83d\ude00\ufffd"}`)
	f.Add(`{"max_bytes":1e-400,"stream":"both","signal":"x"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return // the front refuses the line
		}
		a := parseArgs(json.RawMessage(text))
		sp := runSpec(a)
		if a.err == nil {
			_ = sp.Check()
			if sp.Deadline < 0 || sp.Deadline > job.MaxDeadline {
				t.Errorf("%s became %+v", text, sp)
			}
			reread(t, text, sp.Command)
		}
		q := query(a)
		if q.Budget < job.MinBudget || q.Budget > job.MaxBudget || q.Sel == 0 {
			t.Errorf("%s became %+v", text, q)
		}
		a.count("limit", 1, 0)
		a.span("grace_ms", true)
		a.cursor("after_cursor")
		if s, ok := a.text("job_id"); ok && a.err == nil && quoted(s) == "" {
			t.Errorf("%q has no name", s)
		}
	})
}

// reread holds a command against an independent reading of its JSON.
func reread(t *testing.T, text string, command []string) {
	var members map[string]any
	if json.Unmarshal([]byte(text), &members) != nil {
		t.Fatalf("%s is no object but was accepted", text)
	}
	var list []any
	switch v := members["command"].(type) {
	case string:
		list = []any{v}
	case []any:
		list = v
	}
	if len(list) != len(command) {
		t.Fatalf("%s became %q", text, command)
	}
	for i := range list {
		if list[i] != command[i] {
			t.Fatalf("%s became %q", text, command)
		}
	}
}
