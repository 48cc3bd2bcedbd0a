package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/server/wire"
)

// state gives the members of a task as it stands.
func state(t *testing.T, k *task) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(k.State(wire.Modern).Detail, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// mint has a tool mint a task.
func mint(t *testing.T, ts *tasks, tool func(context.Context, *wire.Call) wire.Result, args string) *task {
	t.Helper()
	r := tool(t.Context(), &wire.Call{Era: wire.Modern, Tasks: true, Arguments: json.RawMessage(args)})
	var m map[string]any
	if err := json.Unmarshal(r.Raw, &m); err != nil {
		t.Fatalf("%v in %s", err, r.Raw)
	}
	if m["resultType"] != "task" || m["status"] != "working" || m["ttlMs"] != 60_000.0 || m["pollIntervalMs"] != 100.0 ||
		m["result"] != nil || m["inputRequests"] != nil {
		t.Errorf("minted %s", r.Raw)
	}
	found, ok := ts.Task(m["taskId"].(string))
	if !ok {
		t.Fatal("the task is not known")
	}
	return found.(*task)
}

func TestTwoInputs(t *testing.T) {
	ts := &tasks{}
	k := mint(t, ts, ts.multiInput, "")
	told := 0
	stop := k.Watch(func() { told++ })
	if m := state(t, k); m["status"] != "input_required" || len(m["inputRequests"].(map[string]any)) != 2 {
		t.Errorf("at first %v", m)
	}
	k.Update(map[string]json.RawMessage{"other": nil})
	if told != 0 {
		t.Error("an answer to nothing changes nothing")
	}
	before := k.State(wire.Modern).Mark
	k.Update(map[string]json.RawMessage{"name": nil})
	m := state(t, k)
	if open := m["inputRequests"].(map[string]any); m["status"] != "input_required" || len(open) != 1 || open["age"] == nil {
		t.Errorf("half answered %v", m)
	}
	if told != 1 || k.State(wire.Modern).Mark == before {
		t.Errorf("told %d times, mark %q", told, before)
	}
	k.Update(map[string]json.RawMessage{"name": nil, "age": nil})
	if m = state(t, k); m["status"] != "completed" || m["inputRequests"] != nil || m["result"].(map[string]any)["resultType"] != "complete" {
		t.Errorf("answered %v", m)
	}
	stop()
	_ = k.Cancel(t.Context())
	if m = state(t, k); m["status"] != "completed" || told != 2 {
		t.Errorf("cancelled after its end %v, told %d times", m, told)
	}
}

func TestCancel(t *testing.T) {
	ts := &tasks{}
	for _, k := range []*task{mint(t, ts, ts.slowCompute, `{"seconds":3600}`), mint(t, ts, ts.confirmDelete, `{"filename":"x"}`)} {
		_ = k.Cancel(t.Context())
		k.move("completed", nil)
		if m := state(t, k); m["status"] != "cancelled" {
			t.Errorf("%v", m)
		}
	}
}

func TestOutcomes(t *testing.T) {
	ts := &tasks{}
	if m := state(t, mint(t, ts, ts.protocolError, "")); m["status"] != "failed" || m["error"].(map[string]any)["code"] != -32603.0 || m["result"] != nil {
		t.Errorf("protocol error: %v", m)
	}
	slow := mint(t, ts, ts.slowCompute, `{"seconds":0.01}`)
	ended := make(chan struct{}, 1)
	defer slow.Watch(func() {
		select {
		case ended <- struct{}{}:
		default:
		}
	})()
	for state(t, slow)["status"] == "working" {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("it never ended")
		}
	}
	if m := state(t, slow); m["status"] != "completed" || m["result"].(map[string]any)["isError"] != false {
		t.Errorf("slow: %v", m)
	}
}

// Without the extension the tools answer themselves, save the one that insists.
func TestWithoutTheExtension(t *testing.T) {
	ts := &tasks{}
	for _, tool := range tools(ts) {
		c := &wire.Call{Era: wire.Modern, Arguments: json.RawMessage(`{"name":"A","filename":"f"}`)}
		r := tool.Handle(t.Context(), c)
		var code int64
		if r.Err != nil {
			code = r.Err.Code
		}
		asks := strings.Contains(string(r.Raw), `"input_required"`)
		want := map[string]int64{"failing_job": wire.CodeMissingCapability, "test_missing_capability": wire.CodeMissingCapability, "protocol_error_job": wire.CodeInternal}[tool.Name]
		if code != want || asks != (tool.Name == "test_tool_with_task" || tool.Name == "test_streaming_elicitation") ||
			want == 0 && !asks && r.Text == "" {
			t.Errorf("%s: %+v, %s", tool.Name, r, r.Raw)
		}
	}
	again := &wire.Call{Era: wire.Modern, InputResponses: json.RawMessage(`{"user_name":{"action":"accept","content":{"name":"Ann"}}}`)}
	if r := ts.afterInput(t.Context(), again); r.Text != "Hello, Ann!" {
		t.Errorf("asked and answered: %+v", r)
	}
	again.Tasks = true
	if r := ts.afterInput(t.Context(), again); !strings.Contains(string(r.Raw), `"task"`) {
		t.Errorf("with the extension: %s", r.Raw)
	}
}
