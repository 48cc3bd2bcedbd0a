package server

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
	"github.com/belfry-dev/belfry/sys"
)

// mute closes a puppet's streams, so that no real pipe holds a fake clock.
func mute(p *puppet) {
	p.out.Close()
	p.err.Close()
}

func TestKill(t *testing.T) {
	for _, c := range []struct {
		name, args, signal string
		stubborn           bool
		took               time.Duration
	}{
		{"willing", ``, "SIGTERM", false, 0},
		{"named", `,"signal":"term"`, "SIGTERM", false, 0},
		{"stubborn", ``, "SIGKILL", true, 5 * time.Second},
		{"short grace", `,"grace_ms":20.5`, "SIGKILL", true, 20500 * time.Microsecond},
		{"no grace", `,"grace_ms":0`, "SIGKILL", false, 0},
		{"hard", `,"signal":"SIGKILL"`, "SIGKILL", true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t, func(p *puppet, _ sys.Spec) { p.stubborn = c.stubborn; mute(p) }, nil)
				id := th.run("")
				start := time.Now()
				r := th.raw("kill", `{"job_id":"`+id+`"`+c.args+`}`)
				m := payload(t, r)
				validator(t, recordOutput)(c.name, string(r.Structured))
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if m["state"] != "killed" || m["signal"] != c.signal || m["ended_by"] != "kill" ||
					m["kill_confirmed"] != true || m["identity_confirmed"] != true || m["exit_code"] != nil {
					t.Errorf("got %v", m)
				}
				again := th.call("kill", `{"job_id":"`+id+`"`+c.args+`}`)
				if again["signal"] != c.signal || again["ended_at"] != m["ended_at"] {
					t.Errorf("a second kill gives %v", again)
				}
			})
		})
	}
}

func TestKillWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(p *puppet, _ sys.Spec) { p.stubborn = true; mute(p) }, nil)
		id := th.run("")
		m := th.call("kill", `{"job_id":"`+id+`","wait":false}`)
		ending, _ := m["ending"].(map[string]any)
		if m["state"] != "running" || ending["by"] != "kill" || ending["step"] != "soft" || m["signal"] != nil {
			t.Errorf("got %v", m)
		}
		if m := th.ended(id); m["signal"] != "SIGKILL" || m["ending"] != nil {
			t.Errorf("ended as %v", m)
		}
	})
}

// A cancelled kill, or the end of its connection, does not take it back.
func TestKillCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(p *puppet, _ sys.Spec) { p.stubborn = true; mute(p) }, nil)
		id := th.run("")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r := th.with(ctx, &wire.Call{}, "kill", `{"job_id":"`+id+`"}`); r.Structured != nil && payload(t, r)["state"] != "killed" {
			t.Errorf("got %s", r.Structured)
		}
		if m := th.ended(id); m["signal"] != "SIGKILL" {
			t.Errorf("ended as %v", m)
		}
	})
}

func TestKillOtherSignal(t *testing.T) {
	th := newTheatre(t, nil, nil)
	id := th.run("")
	m := th.call("kill", `{"job_id":"`+id+`","signal":"SIGUSR1","wait":false}`)
	if m["state"] != "running" || m["signal"] != nil || m["kill_confirmed"] != nil {
		t.Errorf("got %v", m)
	}
	if m := th.call("follow", `{"job_id":"`+id+`","cursor":0}`); texts(m) != "got SIGUSR1|" {
		t.Errorf("the signal did not arrive: %v", m)
	}
}

func TestQueue(t *testing.T) {
	one, two := 1, 2
	th := newTheatre(t, nil, func(c *job.Config) { c.MaxRunning, c.MaxQueue = &one, &two })
	fits := validator(t, runOutput)
	a := th.run("")
	b := th.call("run", `{"command":[TOOL]}`)
	d := th.call("run", `{"command":[TOOL],"label":"last"}`)
	if b["state"] != "starting" || b["queue_position"] != 1.0 || d["queue_position"] != 2.0 || b["spawned_at"] != nil {
		t.Errorf("queued jobs are %v and %v", b, d)
	}
	r := th.raw("run", `{"command":[TOOL]}`)
	if !r.IsError || string(r.Structured) != `{"rejected":true,"reason":"queue-full"}` || !strings.Contains(r.Text, "queue-full") {
		t.Errorf("a run over the bound: %s, %q", r.Structured, r.Text)
	}
	fits("rejection", string(r.Structured))
	list := th.call("list", "")
	if jobs := list["jobs"].([]any); len(jobs) != 3 || list["concurrency_cap"] != 1.0 || jobs[0].(map[string]any)["queue_position"] != 2.0 {
		t.Errorf("the list is %v", list)
	}
	if list := th.call("list", `{"state":"starting","limit":1}`); len(list["jobs"].([]any)) != 1 || list["truncated"] != true {
		t.Errorf("the first queued job is %v", list)
	}
	if list := th.call("list", `{"state":"running"}`); len(list["jobs"].([]any)) != 1 || list["truncated"] != nil {
		t.Errorf("the running jobs are %v", list)
	}
	m := th.call("kill", `{"job_id":"`+b["job_id"].(string)+`"}`)
	if m["state"] != "killed" || m["signal"] != "queue-cancelled" || m["ended_by"] != "queue_cancelled" ||
		m["kill_confirmed"] != true || m["identity_confirmed"] != nil {
		t.Errorf("a killed queued job is %v", m)
	}
	last := d["job_id"].(string)
	if m := th.call("status", `{"job_id":"`+last+`"}`); m["queue_position"] != 1.0 || m["pid"] != nil {
		t.Errorf("the next did not move up: %v", m)
	}
	th.stage.at(0).leave(0, 0)
	th.ended(a)
	waiting := th.raw("follow", `{"job_id":"`+last+`","timeout_ms":1}`)
	if m := payload(t, waiting); m["queue_position"] != nil {
		t.Errorf("the last one still waits: %v", m)
	}
}

// What cannot start is a job all the same; what is turned away is none.
func TestRunFailures(t *testing.T) {
	zero := 0
	th := newTheatre(t, nil, func(c *job.Config) { c.MaxRunning = &zero })
	fits := validator(t, runOutput)
	for _, c := range []struct{ args, reason, code string }{
		{`{"command":["/nowhere/at/all"]}`, "spawn-error", "not_found"},
		{`{"command":[TOOL],"cwd":"/nowhere/at/all"}`, "spawn-error", "cwd_missing"},
		{`{"command":[TOOL],"cwd":""}`, "spawn-error", "cwd_missing"},
		{`{"command":["true"],"env":{"mode":"replace","vars":{"PATH":"/nowhere"}}}`, "spawn-error", "not_found"},
		{`{"command":[TOOL,"a\u0000b"]}`, "spawn-error", "nul_in_argument"},
	} {
		r := th.raw("run", c.args)
		m := payload(t, r)
		d, _ := m["diagnostic"].(map[string]any)
		if m["state"] != "failed" || d["reason"] != c.reason || d["code"] != c.code || d["message"] == "" ||
			m["kill_confirmed"] != true || m["ended_at"] != m["started_at"] {
			t.Errorf("%s: %s", c.args, r.Structured)
		}
		fits(c.args, string(r.Structured))
	}
	r := th.raw("run", `{"command":[TOOL]}`)
	if !r.IsError || string(r.Structured) != `{"rejected":true,"reason":"no-capacity"}` {
		t.Errorf("a run without any slot: %s, %q", r.Structured, r.Text)
	}
	if n := len(th.call("list", "")["jobs"].([]any)); n != 5 {
		t.Errorf("%d jobs, want 5", n)
	}
	th.store.Close(context.Background())
	if r := th.raw("run", `{"command":[TOOL]}`); string(r.Structured) != `{"rejected":true,"reason":"shutting-down"}` {
		t.Errorf("a run after the end: %s, %q", r.Structured, r.Text)
	}
}
