package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
	"github.com/belfry-dev/belfry/sys"
)

// follow starts a follow that must wait, as a connection does: it has begun
// when follow returns.
func (th *theatre) follow(c *wire.Call, args string) <-chan wire.Result {
	th.t.Helper()
	c.Arguments, c.Conn = []byte(args), &wire.Conn{}
	tool := th.followTool()
	c.Begun = tool.Begin(th.t.Context(), c)
	if f := c.Begun.(*following); f.no != nil || f.leave == nil {
		th.t.Fatalf("follow %s does not wait: %+v", args, f.no)
	}
	out := make(chan wire.Result, 1)
	go func() { out <- tool.Handle(th.t.Context(), c) }()
	return out
}

func TestFollowReasons(t *testing.T) {
	th := newTheatre(t, nil, nil)
	fits := validator(t, followOutput)
	id := th.run("")
	p := th.stage.at(0)
	check := func(what string, r wire.Result, reason, lines string, next float64) {
		t.Helper()
		m := payload(t, r)
		if m["reason"] != reason || texts(m) != lines || m["next_cursor"] != next || m["job_id"] != id || m["note"] != nil {
			t.Errorf("%s: got %s", what, r.Structured)
		}
		fits(what, string(r.Structured))
	}
	arg := func(more string) string { return `{"job_id":"` + id + `"` + more + `}` }

	waiting := th.follow(&wire.Call{}, arg(""))
	p.print(p.out, "one\n")
	check("a line wakes", <-waiting, "output", "one|", 1)

	check("cursor 0 has the backlog", th.raw("follow", arg(`,"cursor":0`)), "output", "one|", 1)

	waiting = th.follow(&wire.Call{}, arg(`,"stream":"stderr"`))
	p.print(p.out, "two\n")
	j, _ := th.store.Get(id)
	waitLines(t, j, 2)
	select {
	case r := <-waiting:
		t.Errorf("a line of stdout woke a follow of stderr: %s", r.Structured)
	default:
	}
	p.print(p.err, "three\n")
	check("the stream filters", <-waiting, "output", "three|", 3)

	waiting = th.follow(&wire.Call{}, arg(`,"cursor":1000000000000`))
	p.print(p.out, "frag")
	for j.Snapshot().Counts[job.Stdout].Pending == 0 {
		time.Sleep(time.Millisecond) // nothing tells of a fragment: that is the point
	}
	if m := th.call("output", arg(`,"after_cursor":3,"include_pending":true`)); texts(m) != "" ||
		m["pending"].(map[string]any)["stdout"] != "frag" {
		t.Errorf("a fragment shows as %v", m)
	}
	p.leave(9, 0)
	check("a cursor beyond all waits for the end", <-waiting, "terminal", "", 4)
	check("the end wins over a line", th.raw("follow", arg(`,"cursor":3`)), "terminal", "frag|", 4)
	check("no cursor on an ended job", th.raw("follow", arg("")), "terminal", "", 4)
	if m := th.call("follow", arg(`,"cursor":3`)); m["exit_code"] != 9.0 || m["state"] != "exited" {
		t.Errorf("the end shows as %v", m)
	}
}

// A silent job costs a follow its whole time, to the millisecond of the clock,
// and a client that asked for progress hears of it meanwhile.
func TestFollowTimeout(t *testing.T) {
	for _, c := range []struct {
		args     string
		wait     time.Duration
		progress int
	}{
		{``, 45 * time.Second, 5},
		{`,"timeout_ms":700`, 700 * time.Millisecond, 0},
		{`,"timeout_ms":99999999999`, time.Hour, 449},
	} {
		synctest.Test(t, func(t *testing.T) {
			th := newTheatre(t, func(p *puppet, _ sys.Spec) {
				p.print(p.out, "last "+strings.Repeat("é", 200)+"\n")
				p.out.Close() // else the reading of a real pipe holds the clock
				p.err.Close()
			}, nil)
			id := th.run("")
			j, _ := th.store.Get(id)
			waitLines(t, j, 1)
			var said []float64
			start := time.Now()
			r := <-th.follow(&wire.Call{Progress: func(v float64, message string) {
				if message != "last "+strings.Repeat("é", 95)+"…" || int(v) != 1 {
					t.Errorf("progress %v says %q", v, message)
				}
				if len(said) > 0 && v <= said[len(said)-1] {
					t.Errorf("progress %v after %v", v, said[len(said)-1])
				}
				said = append(said, v)
			}}, `{"job_id":"`+id+`"`+c.args+`}`)
			m := payload(t, r)
			if took := time.Since(start); took != c.wait || m["reason"] != "timeout" || texts(m) != "" || m["state"] != "running" {
				t.Errorf("after %v: %s", took, r.Structured)
			}
			if note, _ := m["note"].(string); !strings.Contains(note, strconv.Itoa(int(c.wait.Milliseconds()))+" ms") {
				t.Errorf("the note is %q", note)
			}
			if len(said) != c.progress {
				t.Errorf("%d reports in %v, want %d", len(said), c.wait, c.progress)
			}
			th.stage.at(0).leave(0, 0)
		})
	}
}

// A follow of a silent job says that it is silent.
func TestProgressOfSilence(t *testing.T) {
	th := newTheatre(t, nil, nil)
	j, _ := th.store.Get(th.run(""))
	if v, message := progress(j, 3); v != 3./1024 || message != "running, no output yet" {
		t.Errorf("progress %v, %q", v, message)
	}
}

// 128 follows wait on a connection, the next is refused, and a cancelled one
// leaves its place to the very next request.
func TestFollowPlaces(t *testing.T) {
	th := newTheatre(t, nil, nil)
	id := th.run("")
	args := `{"job_id":"` + id + `","timeout_ms":3600000}`
	c, other := connect(t, th.Server), connect(t, th.Server)
	for i := range maxWaiting {
		c.post(strconv.Itoa(i), "follow", args)
	}
	c.post(`"over"`, "follow", args)
	l := c.reply(`"over"`)
	if !strings.Contains(l, `"isError":true`) || !strings.Contains(l, "128") {
		t.Errorf("the follow over the bound: %s", l)
	}
	// What has its answer needs no place.
	p := th.stage.at(0)
	p.print(p.out, "line\n")
	for i := range maxWaiting {
		if m, _ := c.content(c.reply(strconv.Itoa(i))); m["reason"] != "output" || texts(m) != "line|" {
			t.Errorf("follow %d: %v", i, m)
		}
	}
	for round := range 20 {
		for i := range maxWaiting {
			c.post(fmt.Sprintf(`"%d %d"`, round, i), "follow", args)
		}
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%d 5",%s}}`, round, envelope))
		c.post(`"freed"`, "follow", args)
		c.post(`"now"`, "follow", strings.Replace(args, `,"timeout`, `,"cursor":0,"timeout`, 1))
		c.post(`"over"`, "follow", args)
		if l := c.reply(`"over"`); !strings.Contains(l, `"isError":true`) {
			t.Fatalf("round %d: the follow over the bound: %s", round, l)
		}
		if m, _ := c.content(c.reply(`"now"`)); m["reason"] != "output" {
			t.Errorf("round %d: a follow with its answer there: %v", round, m)
		}
		if len(c.kept) != 0 {
			t.Fatalf("round %d: unexpected lines %q", round, c.kept)
		}
		// Another client is not starved by this one.
		other.post("1", "follow", `{"job_id":"`+id+`","timeout_ms":1}`)
		if m, _ := other.content(other.reply("1")); m["reason"] != "timeout" {
			t.Errorf("round %d: the other client's follow: %v", round, m)
		}
		p.print(p.out, "line\n")
		for i := range maxWaiting {
			if i != 5 {
				c.reply(fmt.Sprintf(`"%d %d"`, round, i))
			}
		}
		c.reply(`"freed"`)
	}
	th.waiting.mu.Lock()
	defer th.waiting.mu.Unlock()
	if n := len(th.waiting.taken); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
}

func TestProcessPlaces(t *testing.T) {
	th := newTheatre(t, nil, nil)
	id := th.run("")
	th.waiting.most = 1
	waiting := th.follow(&wire.Call{}, `{"job_id":"`+id+`"}`)
	r := th.raw("follow", `{"job_id":"`+id+`"}`)
	if !r.IsError || !strings.Contains(r.Text, "1 follows of all connections are waiting already") {
		t.Errorf("a follow over the process's bound: %+v", r)
	}
	th.stage.at(0).leave(0, 0)
	if m := payload(t, <-waiting); m["reason"] != "terminal" {
		t.Errorf("the waiting follow: %v", m)
	}
	if !th.waiting.take(&place{t.Context()}) {
		t.Error("its place was not given back")
	}
}

// A cancelled follow returns, and says so to nobody.
func TestFollowCancelled(t *testing.T) {
	th := newTheatre(t, nil, nil)
	id := th.run("")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	r := th.with(ctx, &wire.Call{}, "follow", `{"job_id":"`+id+`"}`)
	if !r.IsError || r.Structured != nil {
		t.Errorf("got %+v", r)
	}
	if m := th.call("status", `{"job_id":"`+id+`"}`); m["state"] != "running" {
		t.Errorf("the job is %v", m["state"])
	}
}
