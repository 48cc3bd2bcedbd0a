package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// A task in the modern era, from its minting to its end, by polling.
func TestTaskModern(t *testing.T) {
	th := newTheatre(t, nil, nil)
	c := connect(t, th.Server)
	c.write("1", "tools/call", fmt.Sprintf(`"name":"run","arguments":{"command":[%q]},"task":{"ttl":5}`, th.tool), tasksEnvelope)
	minted := decoded(t, c.reply("1"))["result"].(map[string]any)
	id, _ := minted["taskId"].(string)
	for _, m := range []string{"content", "structuredContent", "task", "result", "error", "inputRequests", "requestState"} {
		if _, there := minted[m]; there {
			t.Errorf("the minted task has %s: %v", m, minted)
		}
	}
	if minted["resultType"] != "task" || minted["status"] != "working" || minted["pollIntervalMs"] != 500.0 || id == "" {
		t.Errorf("minted %v", minted)
	}
	if ttl, there := minted["ttlMs"]; !there || ttl != nil {
		t.Errorf("ttlMs is %v", minted)
	}
	if got := c.ask("2", "tasks/get", `"taskId":"`+id+`"`, tasksEnvelope); got["status"] != "working" || got["resultType"] != "complete" {
		t.Errorf("while it runs %v", got)
	}
	if got := c.ask("3", "tasks/update", `"taskId":"`+id+`","inputResponses":{"x":{}}`, tasksEnvelope); got["resultType"] != "complete" || got["taskId"] != nil {
		t.Errorf("update answers %v", got)
	}
	p := th.stage.at(0)
	p.print(p.out, "hello\n")
	p.leave(3, 0)
	record := th.ended(id)
	got := c.ask("4", "tasks/get", `"taskId":"`+id+`"`, tasksEnvelope)
	result := got["result"].(map[string]any)
	structured := result["structuredContent"].(map[string]any)
	if got["status"] != "completed" || result["isError"] != true || result["resultType"] != "complete" ||
		structured["exit_code"] != 3.0 || structured["job_id"] != id || record["exit_code"] != 3.0 {
		t.Errorf("after the end %v", got)
	}
	text, _ := json.Marshal(structured)
	validator(t, runOutput)("the result of a task", string(text))
	for i, wrong := range []string{``, `"taskId":""`, `"taskId":5`, `"taskId":"nope"`} {
		for _, m := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			if e := c.refused(fmt.Sprintf("%q", fmt.Sprint(m, i)), m, wrong, tasksEnvelope); e["code"] != -32602.0 {
				t.Errorf("%s of {%s}: %v", m, wrong, e)
			}
		}
	}
	if e := c.refused("5", "tasks/update", `"taskId":"`+id+`","inputResponses":[]`, tasksEnvelope); e["code"] != -32602.0 {
		t.Errorf("an array of answers: %v", e)
	}
	for i, m := range []string{"tasks/list", "tasks/result"} {
		if e := c.refused(fmt.Sprint(10+i), m, `"taskId":"`+id+`"`, tasksEnvelope); e["code"] != -32601.0 {
			t.Errorf("%s: %v", m, e)
		}
	}
	for i, m := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if e := c.refused(fmt.Sprint(20+i), m, `"taskId":"`+id+`"`, envelope); e["code"] != -32021.0 {
			t.Errorf("%s without the extension: %v", m, e)
		}
	}
	if lines := c.end(); len(lines) != 0 {
		t.Errorf("unasked: %q", lines)
	}
}

// A cancel ends the job, waits for that, and may come again.
func TestTaskCancel(t *testing.T) {
	th := newTheatre(t, nil, nil)
	c := connect(t, th.Server)
	id := c.mint("1", tasksEnvelope, th.tool)
	for i := range 2 {
		if got := c.ask(fmt.Sprint(2+i), "tasks/cancel", `"taskId":"`+id+`"`, tasksEnvelope); got["resultType"] != "complete" || got["taskId"] != nil {
			t.Errorf("cancel %d answers %v", i, got)
		}
	}
	if got := c.ask("9", "tasks/get", `"taskId":"`+id+`"`, tasksEnvelope); got["status"] != "cancelled" || got["result"] != nil {
		t.Errorf("a cancelled task is %v", got)
	}
}

// What was turned away or could not start is no task in the modern era; in the
// legacy era the latter is one that has failed, with nothing to tell of later.
func TestTaskNeverBegun(t *testing.T) {
	th := newTheatre(t, nil, func(c *job.Config) { c.MaxRunning, c.MaxQueue = ptr(0), ptr(0) })
	c := connect(t, th.Server)
	c.openTasks()
	full := fmt.Sprintf(`"name":"run","arguments":{"command":[%q]}`, th.tool)
	const missing = `"name":"run","arguments":{"command":["/no/such"]}`
	for i, e := range []string{"", tasksEnvelope} {
		r := c.ask(fmt.Sprint(i), "tools/call", full, e)
		if r["isError"] != true || r["structuredContent"].(map[string]any)["rejected"] != true || r["taskId"] != nil {
			t.Errorf("rejected: %v", r)
		}
	}
	r := c.ask("5", "tools/call", missing, tasksEnvelope)
	if r["resultType"] != "complete" || r["taskId"] != nil || r["structuredContent"].(map[string]any)["state"] != "failed" {
		t.Errorf("stillborn, modern: %v", r)
	}
	r = c.ask("6", "tools/call", missing, "")
	ttl, _ := r["ttlMs"].(float64)
	if r["resultType"] != "task" || r["status"] != "failed" || ttl < 86_400_000 || ttl > 86_460_000 ||
		r["structuredContent"].(map[string]any)["job_id"] != r["taskId"] {
		t.Errorf("stillborn, legacy: %v", r)
	}
	if lines := c.end(); len(lines) != 0 {
		t.Errorf("unasked: %q", lines)
	}
}

// In the legacy era the answer carries run's own payload too, and lines and the
// end come unasked, after the answer, as tasks/get tells them.
func TestTaskLegacy(t *testing.T) {
	th := newTheatre(t, func(p *puppet, _ sys.Spec) {
		p.print(p.out, "early\n")
		p.leave(0, 0)
	}, nil)
	c := connect(t, th.Server)
	c.openTasks()
	for i := range 50 {
		r := c.ask(fmt.Sprint(i), "tools/call", fmt.Sprintf(`"name":"run","arguments":{"command":[%q]}`, th.tool), "")
		if len(c.kept) != 0 {
			t.Fatalf("before the answer came %q", c.kept)
		}
		id := r["taskId"].(string)
		if r["status"] != "working" || r["resultType"] != "task" || r["structuredContent"].(map[string]any)["job_id"] != id ||
			len(r["content"].([]any)) != 1 {
			t.Fatalf("minted %v", r)
		}
		wake := c.note(outputWake)
		if !reflect.DeepEqual(wake, map[string]any{"extension": "io.modelcontextprotocol/tasks", "taskId": id,
			"stdout": []any{map[string]any{"seq": 1.0, "text": "early"}}}) {
			t.Errorf("wake %v", wake)
		}
		end := c.note("notifications/tasks")
		got := c.ask(fmt.Sprintf(`"g%d"`, i), "tasks/get", `"taskId":"`+id+`"`, "")
		delete(got, "resultType")
		if !reflect.DeepEqual(end, got) || end["status"] != "completed" || end["result"].(map[string]any)["exitCode"] != 0.0 {
			t.Errorf("the end is %v, tasks/get says %v", end, got)
		}
	}
	if lines := c.end(); len(lines) != 0 {
		t.Errorf("more than once: %q", lines)
	}
}

// A task can be read for a day after its job's end; the record stays.
func TestTaskExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t, func(p *puppet, _ sys.Spec) { p.leave(0, 0) }, nil)
		c := connect(t, th.Server)
		id := c.mint("1", tasksEnvelope, th.tool)
		j, _ := th.store.Get(id)
		<-j.Done()
		time.Sleep(taskTTL - time.Second)
		if got := c.ask("2", "tasks/get", `"taskId":"`+id+`"`, tasksEnvelope); got["status"] != "completed" {
			t.Errorf("within its time: %v", got)
		}
		time.Sleep(2 * time.Second)
		for i, m := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			if e := c.refused(fmt.Sprint(3+i), m, `"taskId":"`+id+`"`, tasksEnvelope); e["code"] != -32602.0 || !strings.Contains(e["message"].(string), id) {
				t.Errorf("%s after its time: %v", m, e)
			}
		}
		if m := th.call("status", `{"job_id":"`+id+`"}`); m["state"] != "exited" {
			t.Errorf("the record: %v", m)
		}
	})
}
