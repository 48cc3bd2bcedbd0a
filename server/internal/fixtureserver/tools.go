package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-dev/belfry/server/wire"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools are the fixture tools. Each that is called a task is one only on
// revision 2026-07-28 for a client with the extension, and otherwise answers
// with what the task would have had as its result.
func tools(ts *tasks) []wire.Tool {
	return []wire.Tool{
		tool("greet", "Greets by name.", greet),
		tool("slow_compute", "A task that takes a while.", ts.slowCompute),
		tool("failing_job", "A task, always, that completes with an error of the tool's.", ts.failingJob),
		tool("protocol_error_job", "A task that fails with a JSON-RPC error.", ts.protocolError),
		tool("confirm_delete", "A task that asks for a confirmation.", ts.confirmDelete),
		tool("multi_input", "A task that asks for two things at once.", ts.multiInput),
		tool("test_tool_with_task", "Asks for a name first, and is a task then.", ts.afterInput),
		tool("test_missing_capability", "Refuses clients without sampling.", missingCapability),
		tool("test_streaming_elicitation", "Asks for input.", streamingElicitation),
		tool("test_logging_tool", "Logs nothing.", func(context.Context, *wire.Call) wire.Result { return said("quiet") }),
	}
}

func tool(name, description string, handle func(context.Context, *wire.Call) wire.Result) wire.Tool {
	return wire.Tool{
		Name: name, Title: name, Description: description,
		InputSchema: json.RawMessage(`{"type":"object"}`),
		Annotations: mcp.ToolAnnotations{ReadOnlyHint: true},
		Handle:      handle,
	}
}

// mints says whether a call becomes a task.
func mints(c *wire.Call) bool { return c.Era == wire.Modern && c.Tasks }

func said(text string) wire.Result { return wire.Result{Text: text} }

// result is said as the result inside a task.
func result(text string, isError bool) json.RawMessage {
	return encoded(map[string]any{
		"resultType": "complete",
		"content":    []map[string]string{{"type": "text", "text": text}},
		"isError":    isError,
	})
}

// read decodes the arguments; what is absent or of another type stays zero.
func read(c *wire.Call, into any) {
	_ = json.Unmarshal(c.Arguments, into) // Best effort: every argument may be absent.
}

func greet(_ context.Context, c *wire.Call) wire.Result {
	var a struct{ Name string }
	read(c, &a)
	return said("Hello, " + a.Name + "!")
}

// pause waits; false says that ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (ts *tasks) slowCompute(ctx context.Context, c *wire.Call) wire.Result {
	var a struct{ Seconds float64 }
	read(c, &a)
	span := time.Duration(a.Seconds * float64(time.Second))
	text := fmt.Sprintf("computed for %v", span)
	if !mints(c) {
		pause(ctx, span)
		return said(text)
	}
	return ts.mint(func(ctx context.Context, t *task) {
		if pause(ctx, span) {
			t.move("completed", result(text, false))
		}
	}).reply()
}

func (ts *tasks) failingJob(_ context.Context, c *wire.Call) wire.Result {
	if !c.Tasks {
		return wire.Result{Err: wire.NeedsTasks()}
	}
	return ts.mint(func(ctx context.Context, t *task) {
		if pause(ctx, time.Second) {
			t.move("completed", result("the job has failed", true))
		}
	}).reply()
}

func (ts *tasks) protocolError(_ context.Context, c *wire.Call) wire.Result {
	if !mints(c) {
		return wire.Result{Err: &wire.Error{Code: wire.CodeInternal, Message: "the job broke"}}
	}
	t := ts.mint(nil)
	t.move("failed", map[string]any{"code": wire.CodeInternal, "message": "the job broke"})
	return t.reply()
}

// form asks for one property.
func form(message, property, kind string) inputRequest {
	return inputRequest{"elicitation/create", map[string]any{
		"mode": "form", "message": message,
		"requestedSchema": map[string]any{
			"type": "object", "properties": map[string]any{property: map[string]string{"type": kind}},
		},
	}}
}

func (ts *tasks) confirmDelete(_ context.Context, c *wire.Call) wire.Result {
	var a struct{ Filename string }
	read(c, &a)
	if !mints(c) {
		return said("deleted " + a.Filename)
	}
	t := ts.mint(nil)
	t.ask(result("deleted "+a.Filename, false), map[string]inputRequest{
		"confirm": form("Delete "+a.Filename+"?", "confirm", "boolean"),
	})
	return t.reply()
}

func (ts *tasks) multiInput(_ context.Context, c *wire.Call) wire.Result {
	if !mints(c) {
		return said("both known")
	}
	t := ts.mint(nil)
	t.ask(result("both known", false), map[string]inputRequest{
		"name": form("What is your name?", "name", "string"),
		"age":  form("How old are you?", "age", "integer"),
	})
	return t.reply()
}

// inputRequired answers a call with a request for input: the client calls again.
func inputRequired(requests map[string]inputRequest) wire.Result {
	return wire.Result{Raw: encoded(map[string]any{
		"resultType": "input_required", "inputRequests": requests, "requestState": "asked",
	})}
}

func (ts *tasks) afterInput(_ context.Context, c *wire.Call) wire.Result {
	var answers struct {
		User *struct {
			Content struct{ Name string }
		} `json:"user_name"`
	}
	if c.Era == wire.Modern {
		_ = json.Unmarshal(c.InputResponses, &answers) // Best effort: absent at first.
		if answers.User == nil {
			return inputRequired(map[string]inputRequest{"user_name": form("What is your name?", "name", "string")})
		}
	}
	name := "nobody"
	if answers.User != nil {
		name = answers.User.Content.Name
	}
	if !mints(c) {
		return said("Hello, " + name + "!")
	}
	return ts.mint(func(_ context.Context, t *task) {
		t.move("completed", result("Hello, "+name+"!", false))
	}).reply()
}

func missingCapability(_ context.Context, c *wire.Call) wire.Result {
	var has struct{ Sampling any }
	_ = json.Unmarshal(c.Meta("io.modelcontextprotocol/clientCapabilities"), &has) // Best effort: absent is none.
	if has.Sampling == nil {
		return wire.Result{Err: &wire.Error{
			Code: wire.CodeMissingCapability, Message: "the client has not declared sampling",
			Data: map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}},
		}}
	}
	return said("sampling is there")
}

func streamingElicitation(_ context.Context, c *wire.Call) wire.Result {
	if c.Era != wire.Modern {
		return said("nothing to ask")
	}
	return inputRequired(map[string]inputRequest{"go_on": form("Go on?", "go_on", "boolean")})
}
