package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const tasksExtension = "io.modelcontextprotocol/tasks"

// goSDK is a session of the Go SDK's client with the server. Every reply is
// held against the output schema that the server advertises.
type goSDK struct {
	*mcp.ClientSession
	t       *testing.T
	schemas map[string]*jsonschema.Resolved
}

type taskParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

type taskResult struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	Status     string `json:"status"`
}

// line and record are what the tests look at in a reply.
type line struct {
	Stream string `json:"stream"`
	Text   string `json:"text"`
}

type record struct {
	JobID    string `json:"job_id"`
	State    string `json:"state"`
	ExitCode *int   `json:"exit_code"`
	Signal   string `json:"signal"`
	Reason   string `json:"reason"`
	Next     int64  `json:"next_cursor"`
	Events   []line `json:"events"`
	Jobs     []struct {
		JobID string `json:"job_id"`
	} `json:"jobs"`
}

func openGoSDK(t *testing.T, k kit, version string, tasks bool) *goSDK {
	t.Helper()
	capabilities := &mcp.ClientCapabilities{}
	if tasks {
		capabilities.AddExtension(tasksExtension, nil)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{Capabilities: capabilities})
	for _, method := range []string{"tasks/get", "tasks/cancel"} {
		if err := mcp.AddSendingCustomMethod[*taskParams, *taskResult](c, method); err != nil {
			t.Fatal(err)
		}
	}
	session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(k.server)},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("negotiated %s, want %s", got, version)
	}
	g := &goSDK{ClientSession: session, t: t, schemas: map[string]*jsonschema.Resolved{}}
	g.readSchemas()
	return g
}

func (g *goSDK) readSchemas() {
	g.t.Helper()
	list, err := g.ListTools(g.t.Context(), nil)
	if err != nil {
		g.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		b, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			g.t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(b, &s); err != nil {
			g.t.Fatalf("%s: its output schema: %v", tool.Name, err)
		}
		if g.schemas[tool.Name], err = s.Resolve(nil); err != nil {
			g.t.Fatalf("%s: its output schema: %v", tool.Name, err)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "follow kill list output run status tail" {
		g.t.Fatalf("the tools are %s", got)
	}
}

// call calls a tool that must succeed.
func (g *goSDK) call(tool string, args map[string]any) record {
	g.t.Helper()
	r, err := g.CallTool(g.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		g.t.Fatalf("%s: %v", tool, err)
	}
	b, err := json.Marshal(r.StructuredContent)
	if err != nil {
		g.t.Fatal(err)
	}
	if r.IsError {
		g.t.Fatalf("%s is an error: %s", tool, b)
	}
	if err := g.schemas[tool].Validate(r.StructuredContent); err != nil {
		g.t.Fatalf("%s: the reply does not fit its schema: %v\n%s", tool, err, b)
	}
	var got record
	if err := json.Unmarshal(b, &got); err != nil {
		g.t.Fatal(err)
	}
	return got
}

func (g *goSDK) run(command ...string) string {
	g.t.Helper()
	return g.call("run", map[string]any{"command": command}).JobID
}

// toEnd follows a job to its end; Events are all of them.
func (g *goSDK) toEnd(job string) record {
	g.t.Helper()
	var all []line
	for cursor := int64(0); ; {
		r := g.call("follow", map[string]any{"job_id": job, "cursor": cursor, "timeout_ms": 10_000})
		all = append(all, r.Events...)
		cursor = r.Next
		if r.Reason == "terminal" {
			r.Events = all
			return r
		}
	}
}

func (g *goSDK) want(what string, got record, state string, code int, lines ...line) {
	g.t.Helper()
	if got.State != state || got.ExitCode == nil || *got.ExitCode != code || !slices.Equal(got.Events, lines) {
		g.t.Errorf("%s: %+v, want %s %d %+v", what, got, state, code, lines)
	}
}

func TestGoSDK(t *testing.T) {
	k := clients(t)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			t.Run("jobs", func(t *testing.T) { goSDKJobs(t, k, version) })
			t.Run("tasks", func(t *testing.T) { goSDKTasks(t, k, version) })
		})
	}
}

func goSDKJobs(t *testing.T, k kit, version string) {
	g := openGoSDK(t, k, version, false)
	job := g.run("sh", "-c", "for i in 1 2 3; do echo $i; sleep .1; done")
	one, two, three := line{"stdout", "1"}, line{"stdout", "2"}, line{"stdout", "3"}
	g.want("follow", g.toEnd(job), "exited", 0, one, two, three)
	g.want("status", g.call("status", map[string]any{"job_id": job}), "exited", 0)
	if r := g.call("output", map[string]any{"job_id": job, "after_cursor": 1}); !slices.Equal(r.Events, []line{two, three}) {
		t.Errorf("output: %+v", r)
	}
	if r := g.call("tail", map[string]any{"job_id": job, "lines": 1}); !slices.Equal(r.Events, []line{three}) {
		t.Errorf("tail: %+v", r)
	}
	if r := g.call("list", nil); len(r.Jobs) != 1 || r.Jobs[0].JobID != job {
		t.Errorf("list: %+v", r)
	}
	g.want("a failing command", g.toEnd(g.run("sh", "-c", "echo broken >&2; exit 3")), "exited", 3, line{"stderr", "broken"})

	silent := g.run("sleep", "60")
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := g.CallTool(short, &mcp.CallToolParams{Name: "follow", Arguments: map[string]any{"job_id": silent}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a follow that was given up: %v", err)
	}
	g.call("kill", map[string]any{"job_id": silent})
	if r := g.toEnd(silent); r.State != "killed" || r.Signal != "SIGTERM" {
		t.Errorf("kill: %+v", r)
	}

	_, err = g.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"})
	wantCode(t, "an unknown tool", err, jsonrpc.CodeInvalidParams)
}

// The client's own tools/call drops what makes a reply a task, so the task's id
// is read back from list.
func goSDKTasks(t *testing.T, k kit, version string) {
	g := openGoSDK(t, k, version, true)
	_, err := g.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"command": []string{"sleep", "60"}}})
	if err != nil {
		t.Fatal(err)
	}
	jobs := g.call("list", nil).Jobs
	if len(jobs) != 1 {
		t.Fatalf("list: %+v", jobs)
	}
	id := &taskParams{TaskID: jobs[0].JobID}
	ask := func(method string) *taskResult {
		t.Helper()
		r, err := mcp.CallCustomMethod[*taskParams, *taskResult](t.Context(), g.ClientSession, method, id)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return r
	}
	if r := ask("tasks/get"); r.Status != "working" || r.ResultType != "complete" {
		t.Errorf("tasks/get: %+v", r)
	}
	ask("tasks/cancel")
	g.toEnd(id.TaskID)
	if r := ask("tasks/get"); r.Status != "cancelled" {
		t.Errorf("tasks/get after the cancel: %+v", r)
	}
	_, err = mcp.CallCustomMethod[*taskParams, *taskResult](t.Context(), g.ClientSession, "tasks/get", &taskParams{TaskID: "no-such-task"})
	wantCode(t, "an unknown task", err, jsonrpc.CodeInvalidParams)
}

func wantCode(t *testing.T, what string, err error, code int64) {
	t.Helper()
	if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != code {
		t.Errorf("%s: %v, want code %d", what, err, code)
	}
}
