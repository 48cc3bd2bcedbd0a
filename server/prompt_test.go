package server

import (
	"fmt"
	"strings"
	"testing"
)

func TestPrompts(t *testing.T) {
	th := newTheatre(t, nil, nil)
	c := connect(t, th.Server)
	c.open()
	for i, env := range []string{"", envelope} {
		list := c.ask(fmt.Sprint(i), "prompts/list", "", env)["prompts"].([]any)
		if len(list) != len(prompts) {
			t.Fatalf("%v", list)
		}
		for _, p := range list {
			if m := p.(map[string]any); m["title"] == "" || m["description"] == "" {
				t.Errorf("prompt %v", m)
			}
		}
	}
	for i, c2 := range []struct{ name, args, want string }{
		{"run_tests", ``, "Start the command that this project documents for its tests with"},
		{"run_tests", `,"arguments":{"command":"make <test> {job_id}"}`, "Start make <test> {job_id} with"},
		{"watch_job", `,"arguments":{"job_id":"abc","more":"x"}`, "the belfry job abc."},
		{"clean_up", `,"arguments":{}`, "state running"},
	} {
		r := c.ask(fmt.Sprint(10+i), "prompts/get", fmt.Sprintf(`"name":%q%s`, c2.name, c2.args), "")
		message := r["messages"].([]any)[0].(map[string]any)
		text := message["content"].(map[string]any)["text"].(string)
		if message["role"] != "user" || !strings.Contains(text, c2.want) || r["description"] == "" {
			t.Errorf("%s%s: %v", c2.name, c2.args, r)
		}
	}
	for i, params := range []string{``, `"name":5`, `"name":"nope"`, `"name":"watch_job"`, `"name":"watch_job","arguments":{"job_id":""}`,
		`"name":"watch_job","arguments":{"job_id":5}`, `"name":"clean_up","arguments":[]`} {
		if e := c.refused(fmt.Sprint(30+i), "prompts/get", params, ""); e["code"] != -32602.0 {
			t.Errorf("{%s}: %v", params, e)
		}
	}
}

func TestCompletion(t *testing.T) {
	th := newTheatre(t, nil, nil)
	var ids []string
	for range 105 {
		ids = append(ids, th.call("run", `{"command":["/no/such"]}`)["job_id"].(string))
	}
	newest := ids[len(ids)-1]
	c := connect(t, th.Server)
	complete := func(id, ref, arg, value string) map[string]any {
		r := c.ask(id, "completion/complete", fmt.Sprintf(`"ref":%s,"argument":{"name":%q,"value":%q}`, ref, arg, value), envelope)
		return r["completion"].(map[string]any)
	}
	for i, ref := range []string{`{"type":"ref/resource","uri":"belfry://jobs/{id}"}`,
		`{"type":"ref/resource","uri":"belfry://jobs/{id}/output{?stream,after}"}`, `{"type":"ref/prompt","name":"watch_job"}`} {
		arg := "id"
		if i == 2 {
			arg = "job_id"
		}
		all := complete(fmt.Sprint(i), ref, arg, "")
		values := all["values"].([]any)
		if len(values) != maxCompletions || all["total"] != 105.0 || all["hasMore"] != true {
			t.Errorf("%s: %v", ref, all)
		}
		one := complete(fmt.Sprintf(`"%d"`, i), ref, arg, newest[:20])
		if got := one["values"].([]any); len(got) != 1 || got[0] != newest || one["hasMore"] != false {
			t.Errorf("%s: %v", ref, one)
		}
	}
	if got := complete("10", `{"type":"ref/resource","uri":"belfry://jobs/{id}/output{?stream,after}"}`, "stream", "std"); fmt.Sprint(got["values"]) != "[stdout stderr]" {
		t.Errorf("streams: %v", got)
	}
	if got := complete("11", `{"type":"ref/prompt","name":"run_tests"}`, "command", "m"); len(got["values"].([]any)) != 0 {
		t.Errorf("commands: %v", got)
	}
	for i, params := range []string{``, `"ref":{"type":"ref/prompt","name":"watch_job"}`, `"ref":5,"argument":{}`,
		`"ref":{"type":"ref/prompt","name":"nope"},"argument":{"name":"id","value":""}`,
		`"ref":{"type":"ref/resource","uri":"x:y"},"argument":{"name":"id","value":""}`,
		`"ref":{"type":"other"},"argument":{"name":"id","value":""}`,
		`"ref":{"type":"ref/prompt","name":"watch_job"},"argument":{"name":"job_id","value":5}`} {
		if e := c.refused(fmt.Sprint(20+i), "completion/complete", params, envelope); e["code"] != -32602.0 {
			t.Errorf("{%s}: %v", params, e)
		}
	}
}
