package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/wire"
)

// with serves one call of a tool without a connection around it.
func (th *theatre) with(ctx context.Context, c *wire.Call, tool, args string) wire.Result {
	th.t.Helper()
	c.Tool, c.Era = tool, wire.Modern
	if args != "" {
		c.Arguments = json.RawMessage(args)
	}
	if c.Conn == nil {
		c.Conn = &wire.Conn{}
	}
	return serve(ctx, th.row(tool), c)
}

// serve serves one call as package wire does.
func serve(ctx context.Context, t wire.Tool, c *wire.Call) wire.Result {
	if t.Begin != nil {
		c.Begun = t.Begin(ctx, c)
	}
	return t.Handle(ctx, c)
}

func (th *theatre) row(name string) wire.Tool {
	th.t.Helper()
	for _, t := range th.tools() {
		if t.Name == name {
			return t
		}
	}
	th.t.Fatalf("no tool %s", name)
	return wire.Tool{}
}

// raw gives the result of a call, whatever it is. A TOOL in args stands for
// the program of the stage.
func (th *theatre) raw(tool, args string) wire.Result {
	th.t.Helper()
	path, _ := json.Marshal(th.tool)
	return th.with(th.t.Context(), &wire.Call{}, tool, strings.ReplaceAll(args, "TOOL", string(path)))
}

// call gives the payload of a call that must succeed.
func (th *theatre) call(tool, args string) map[string]any {
	th.t.Helper()
	return payload(th.t, th.raw(tool, args))
}

// payload decodes a success and holds both halves of it against each other.
func payload(t testing.TB, r wire.Result) map[string]any {
	t.Helper()
	if r.IsError {
		t.Fatalf("tool error: %s", r.Text)
	}
	var m map[string]any
	if err := json.Unmarshal(r.Structured, &m); err != nil {
		t.Fatalf("%v in %s", err, r.Structured)
	}
	if m["jobs"] == nil && r.Text != string(r.Structured) {
		t.Fatalf("the text %s is not the payload %s", r.Text, r.Structured)
	}
	return m
}

// run starts a job and gives its id once it runs, waits in the queue or ended.
func (th *theatre) run(more string) string {
	th.t.Helper()
	return th.started(`{"command":[TOOL]` + more + `}`)
}

// started is run with all its arguments. run itself answers while a slow start
// is still under way.
func (th *theatre) started(args string) string {
	th.t.Helper()
	sub := th.store.Subscribe(64)
	defer sub.Close()
	id := th.call("run", args)["job_id"].(string)
	j, _ := th.store.Get(id)
	for {
		if s := j.Snapshot(); s.State != job.Starting || s.QueuePosition > 0 {
			return id
		}
		<-sub.C
	}
}

// ended waits for the end of a job and gives its record.
func (th *theatre) ended(id string) map[string]any {
	th.t.Helper()
	j, ok := th.store.Get(id)
	if !ok {
		th.t.Fatalf("no job %s", id)
	}
	<-j.Done()
	return th.call("status", `{"job_id":"`+id+`"}`)
}

// texts gives the lines of a page.
func texts(m map[string]any) string {
	var b strings.Builder
	for _, e := range m["events"].([]any) {
		b.WriteString(e.(map[string]any)["text"].(string) + "|")
	}
	return b.String()
}
