package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func TestMain(m *testing.M) { systest.Main(m) }

// real gives a server over real processes; only the helpers of this test
// binary are allowed.
func real(t *testing.T) *theatre {
	t.Helper()
	path, _, _ := systest.Command("sleep")
	store, err := job.NewStore(job.Config{
		Launcher: systest.Host(t, sys.HostOptions{}), Policy: job.PolicyFile{Path: systest.Policy(t, path), Origin: "BELFRY_POLICY_FILE"},
		Base: job.Base{Path: os.Getenv("PATH"), Home: os.Getenv("HOME"), System: []string{"SystemRoot=" + os.Getenv("SystemRoot")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(context.Background()) })
	srv, err := New(store, Options{Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	return &theatre{Server: srv, t: t, tool: path}
}

// start runs a helper with more arguments of run and gives the job's id.
func (th *theatre) start(more, helper string, args ...string) string {
	th.t.Helper()
	_, argv, _ := systest.Command(helper, args...)
	command, err := json.Marshal(argv)
	if err != nil {
		th.t.Fatal(err)
	}
	return th.started(fmt.Sprintf(`{"command":%s%s}`, command, more))
}

// readToEnd follows a job to its end as a client does.
func (th *theatre) readToEnd(id string) (lines int, last map[string]any) {
	th.t.Helper()
	for cursor := 0.0; ; {
		m := th.call("follow", fmt.Sprintf(`{"job_id":%q,"cursor":%.0f,"timeout_ms":60000}`, id, cursor))
		for _, e := range m["events"].([]any) {
			if seq := e.(map[string]any)["seq"].(float64); seq != cursor+1 {
				th.t.Fatalf("line %v after %v", seq, cursor)
			}
			cursor++
			lines++
		}
		cursor = m["next_cursor"].(float64)
		switch {
		case m["reason"] == "timeout":
			th.t.Fatalf("no end in sight: %v", m)
		case m["reason"] == "terminal" && m["truncated"] == nil:
			return lines, m
		}
	}
}

func TestRealJobs(t *testing.T) {
	th := real(t)
	// exited waits for the end of a job that must end well.
	exited := func(id string) string {
		t.Helper()
		if m := th.ended(id); m["state"] != "exited" || m["exit_code"] != 0.0 {
			t.Errorf("a job that should exit is %v", m)
		}
		return id
	}

	lines, m := th.readToEnd(th.start("", "spam", "5000", "80"))
	if lines != 5000 || m["state"] != "exited" || m["exit_code"] != 0.0 {
		t.Errorf("%d lines of 5000, then %v", lines, m)
	}

	lines, m = th.readToEnd(th.start("", "both", "200"))
	if counts := m["counts"].(map[string]any); lines != 400 || counts["stdout_lines"] != 200.0 || counts["stderr_lines"] != 200.0 {
		t.Errorf("%d lines of 400, then %v", lines, m)
	}

	id := exited(th.start(`,"merge_stderr":true`, "both", "3"))
	if m := th.call("output", `{"job_id":"`+id+`","stream":"stdout"}`); texts(m) != "out 0|err 0|out 1|err 1|out 2|err 2|" {
		t.Errorf("merged streams are %v", m)
	}

	if _, m = th.readToEnd(th.start("", "exit", "7")); m["exit_code"] != 7.0 || m["ended_by"] != "exit" {
		t.Errorf("exit 7 is %v", m)
	}

	id = exited(th.start(`,"env":{"vars":{"MINE":"1"}}`, "env", "MINE", "GOFLAGS", "USER"))
	if m := th.call("tail", `{"job_id":"`+id+`"}`); texts(m) != "MINE=1|" {
		t.Errorf("the environment is %v", m)
	}

	args := []string{"a b", "", "$HOME", `'q"`, "*", "-x", "é漢😀", "--"}
	id = exited(th.start("", "echo", args...))
	want := ""
	for _, a := range args {
		want += a + "|"
	}
	if m := th.call("output", `{"job_id":"`+id+`"}`); texts(m) != want {
		t.Errorf("arguments arrive as %v", m)
	}

	id = th.start("", "sleep")
	if m := th.call("status", `{"job_id":"`+id+`"}`); m["pid"] == nil || m["birth_identity"] == nil ||
		m["mechanism"] == nil || m["guarantee"] == nil {
		t.Errorf("a running job is %v", m)
	}
	if m := th.call("kill", `{"job_id":"`+id+`"}`); m["state"] != "killed" || m["kill_confirmed"] != true || m["exit_code"] != nil {
		t.Errorf("a killed job is %v", m)
	}

	id = th.start(`,"deadline_ms":50.5`, "sleep")
	if m := th.ended(id); m["state"] != "failed" || m["ended_by"] != "deadline" ||
		m["diagnostic"].(map[string]any)["code"] != "deadline" {
		t.Errorf("a job over its deadline is %v", m)
	}
}

// A client that asks for everything at once, over a connection, gets it all.
func TestRealConnection(t *testing.T) {
	th := real(t)
	c := connect(t, th.Server)
	_, argv, _ := systest.Command("spam", "3000", "40")
	command, _ := json.Marshal(argv)
	c.post("1", "run", fmt.Sprintf(`{"command":%s}`, command))
	m, _ := c.content(c.reply("1"))
	id := m["job_id"].(string)
	const clients = 50
	for i := range clients {
		c.post(fmt.Sprintf(`"w%d"`, i), "follow", fmt.Sprintf(`{"job_id":%q,"cursor":1000000000000,"timeout_ms":60000}`, id))
	}
	for i := range clients {
		if m, _ := c.content(c.reply(fmt.Sprintf(`"w%d"`, i))); m["reason"] != "terminal" || m["next_cursor"] != 3000.0 {
			t.Errorf("wait %d: %v", i, m)
		}
	}
	c.post("2", "output", fmt.Sprintf(`{"job_id":%q,"max_bytes":1000000}`, id))
	if m, _ := c.content(c.reply("2")); len(m["events"].([]any)) != 3000 || m["truncated"] != nil {
		t.Errorf("%d of 3000 lines", len(m["events"].([]any)))
	}
}
