package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

func bubble(t *testing.T, test func(t *testing.T)) { t.Helper(); synctest.Test(t, test) }

func TestLegacyVersions(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"1999-01-01": "2025-11-25", "2099-01-01": "2025-11-25", "2026-07-28": "2025-11-25", "x": "2025-11-25",
	} {
		bubble(t, func(t *testing.T) {
			p := open(t, toyFront(t, nil), Legacy, asked)
			r := p.result(`"init"`)
			if got := string(r["protocolVersion"]); got != `"`+want+`"` {
				t.Errorf("asked for %s, got %s", asked, got)
			}
			if got := string(r["capabilities"]); got != `{"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":{}}` {
				t.Errorf("capabilities %s", got)
			}
			if got := string(r["serverInfo"]); got != `{"name":"toy","version":"1.2.3"}` {
				t.Errorf("serverInfo %s", got)
			}
			if got := string(r["instructions"]); got != `"Ask <nicely>."` {
				t.Errorf("instructions %s", got)
			}
			p.goesOn(Legacy)
			p.finish()
		})
	}
}

func TestBeforeInitialize(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, toyFront(t, nil))
		p.write(req(Legacy, "1", "tools/list", "") + req(Legacy, "2", "server/discover", "") +
			call(Legacy, "3", "echo", "") + req(Legacy, "4", "ping", "") + req(Legacy, "5", "initialize", `"capabilities":{}`) + initialized)
		for _, id := range []string{"1", "2", "3", "5"} {
			p.wantError(id, CodeInvalidParams)
		}
		if m := p.reply("1").Error.Message; !strings.Contains(m, "initialize") || !strings.Contains(m, versionKey) {
			t.Errorf("message %q does not name both ways to open", m)
		}
		p.result("4")
		p.write(hello("2025-11-25", "{}") + call(Legacy, "6", "echo", "") + req(Legacy, "7", "tools/list", "") + req(Legacy, "8", "ping", ""))
		p.result(`"init"`)
		p.wantError("6", CodeInvalidRequest)
		p.result("7")
		p.result("8")
		p.write(initialized + call(Legacy, "9", "echo", "") + strings.Replace(hello("2025-11-25", "{}"), `"init"`, "10", 1))
		p.result("9")
		p.wantError("10", CodeInvalidRequest)
		p.goesOn(Legacy)
		p.finish()
	})
}

func TestModernMembers(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, _ Era) {
		p.write(req(Modern, "1", "server/discover", "") + req(Modern, "2", "tools/list", "") + call(Modern, "3", "echo", `"a":1`) + call(Modern, "4", "raw", ""))
		d := p.result("1")
		if got := string(d["supportedVersions"]); got != `["2026-07-28"]` {
			t.Errorf("supportedVersions %s", got)
		}
		if got := string(d["capabilities"]); got != `{"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":{}}` {
			t.Errorf("capabilities %s", got)
		}
		for _, id := range []string{"1", "2"} {
			if r := p.result(id); string(r["ttlMs"]) != "3600000" || string(r["cacheScope"]) != `"public"` {
				t.Errorf("reply %s: ttlMs %s cacheScope %s", id, r["ttlMs"], r["cacheScope"])
			}
		}
		for _, id := range []string{"1", "2", "3", "4"} {
			r := p.result(id)
			if string(r["resultType"]) != `"complete"` || string(r["_meta"]) != `{"io.modelcontextprotocol/serverInfo":{"name":"toy","version":"1.2.3"}}` {
				t.Errorf("reply %s: resultType %s _meta %s", id, r["resultType"], r["_meta"])
			}
		}
		if got := string(p.result("4")["structuredContent"]); got != `{"a":1}` {
			t.Errorf("raw result %s", got)
		}
	})
}

func TestLegacyResultsCarryNoStamp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := open(t, toyFront(t, nil), Legacy, "2025-11-25")
		p.write(call(Legacy, "1", "echo", `"a":"<&>"`) + call(Legacy, "2", "raw", ""))
		for _, id := range []string{"1", "2"} {
			if r := p.result(id); r["resultType"] != nil || r["_meta"] != nil {
				t.Errorf("reply %s: %v", id, r)
			}
		}
		want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":\"<&>\"}"}],"structuredContent":{"a":"<&>"}}}` + "\n"
		if !strings.Contains(strings.Join(p.lines(), ""), want) {
			t.Errorf("want the line %s among %q", want, p.lines())
		}
		p.finish()
	})
}

func TestUnsupportedVersionNamesTheSupported(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, _ Era) {
		for i, v := range []string{"1900-01-01", "2099-01-01", "2025-11-25", "v1", ""} {
			p.write(strings.Replace(req(Modern, fmt.Sprint(i), "tools/list", ""), "2026-07-28", v, 1))
			e := p.wantError(fmt.Sprint(i), CodeBadVersion).Error
			if string(e.Data["requested"]) != fmt.Sprintf("%q", v) || string(e.Data["supported"]) != `["2026-07-28"]` {
				t.Errorf("data %s", e.Data)
			}
		}
		p.goesOn(Modern)
	})
}

func TestEnvelopeMembers(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, _ Era) {
		for i, c := range []struct {
			meta string
			code int64
		}{
			{`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, CodeInvalidParams},
			{`"io.modelcontextprotocol/clientCapabilities":{}`, CodeInvalidParams},
			{`"io.modelcontextprotocol/protocolVersion":5,"io.modelcontextprotocol/clientCapabilities":{}`, CodeInvalidParams},
			{`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]`, CodeInvalidParams},
			{`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`, CodeInvalidParams},
			{`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`, 0},
		} {
			id := fmt.Sprint(i)
			p.write(req(Legacy, id, "tools/list", `"_meta":{`+c.meta+`}`))
			if c.code == 0 {
				p.result(id)
			} else {
				p.wantError(id, c.code)
			}
		}
		p.write(req(Legacy, `"d"`, "server/discover", ""))
		p.wantError(`"d"`, CodeInvalidParams)
	})
}

func TestMethodsThatTheModernEraRemoved(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, _ Era) {
		for i, m := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result"} {
			p.write(req(Modern, fmt.Sprint(i), m, `"taskId":"x","level":"info","uri":"x:y","protocolVersion":"2025-11-25"`))
			p.wantError(fmt.Sprint(i), CodeMethodNotFound)
		}
	})
}

func TestErasOnOneConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := open(t, toyFront(t, nil), Modern, "")
		p.write(hello("2025-11-25", "{}") + initialized)
		if p.result(`"init"`)["resultType"] != nil {
			t.Error("initialize answered in the modern form")
		}
		var all strings.Builder
		for i := range 40 {
			tool := []string{"echo", "quick"}[i/2%2]
			all.WriteString(call([]Era{Legacy, Modern}[i%2], fmt.Sprint(i), tool, `"i":`+fmt.Sprint(i)))
		}
		p.write(all.String())
		for i := range 40 {
			r := p.result(fmt.Sprint(i))
			if string(r["structuredContent"]) != fmt.Sprintf(`{"i":%d}`, i) || (r["resultType"] != nil) != (i%2 == 1) {
				t.Errorf("reply %d: %s", i, r)
			}
		}
		p.goesOn(Legacy)
		p.goesOn(Modern)
		p.write(req(Modern, "99", "server/discover", ""))
		p.result("99")
		p.finish()
	})
}

func TestTasksCapability(t *testing.T) {
	with := `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	for _, caps := range []string{`{}`, with, `{"tasks":{},"experimental":{"io.modelcontextprotocol/tasks":{}}}`} {
		bubble(t, func(t *testing.T) {
			p := connect(t, toyFront(t, nil))
			p.write(hello("2025-11-25", caps) + initialized + call(Legacy, "1", "tasks", "") + call(Modern, "2", "tasks", ""))
			p.write(strings.Replace(call(Modern, "3", "tasks", ""), with, caps, 1))
			is := fmt.Sprint(caps == with)
			for id, want := range map[string]string{"1": is + " legacy", "2": "true modern", "3": is + " modern"} {
				if got := string(p.result(id)["content"]); !strings.Contains(got, want) {
					t.Errorf("capabilities %s, call %s: %s, want %s", caps, id, got, want)
				}
			}
			p.finish()
		})
	}
}

func TestToolsList(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write(req(era, "1", "tools/list", "") + req(era, "2", "tools/list", `"cursor":"nonsense"`))
		var tools []map[string]json.RawMessage
		if err := json.Unmarshal(p.result("1")["tools"], &tools); err != nil {
			t.Fatal(err)
		}
		if len(tools) != len(toys()) {
			t.Fatalf("%d tools", len(tools))
		}
		for _, tool := range tools {
			if string(tool["inputSchema"]) != objectSchema || string(tool["outputSchema"]) != objectSchema ||
				string(tool["annotations"]) != `{"destructiveHint":false,"idempotentHint":false,"openWorldHint":false,"readOnlyHint":true}` {
				t.Errorf("entry %s", tool)
			}
		}
		p.wantError("2", CodeInvalidParams)
	})
}

func TestPipelinedScript(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := connect(t, toyFront(t, nil))
		script := hello("2025-11-25", "{}") + initialized
		for i := range 23 {
			script += []string{req(Legacy, fmt.Sprint(i), "tools/list", ""), call(Legacy, fmt.Sprint(i), "echo", ""), call(Legacy, fmt.Sprint(i), "wait", `"ms":500`)}[i%3]
		}
		p.write(script)
		if err := p.finish(); err != nil {
			t.Error(err)
		}
		for i := range 23 {
			p.result(fmt.Sprint(i))
		}
		p.result(`"init"`)
	})
}
