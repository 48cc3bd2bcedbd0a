package wire

import (
	"strings"
	"testing"
)

func TestLinesThatAreNoMessages(t *testing.T) {
	for _, c := range []struct {
		name, line string
		code       int64
	}{
		{"no JSON", `{not json}`, CodeParse},
		{"cut short", `{"jsonrpc":"2.0","id":9,"met`, CodeParse},
		{"two on one line", `{"jsonrpc":"2.0","id":7,"method":"ping"} {"jsonrpc":"2.0","id":8,"method":"ping"}`, CodeParse},
		{"blank", "", CodeParse},
		{"spaces", "  \r", CodeParse},
		{"raw NUL", "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"a\x00\"}", CodeParse},
		{"bytes", "\xff\xfe\x00", CodeParse},
		{"number", `42`, CodeInvalidRequest},
		{"string", `"hello"`, CodeInvalidRequest},
		{"null", `null`, CodeInvalidRequest},
		{"other object", `{"a":1}`, CodeInvalidRequest},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":9,"method":"tools/list","params":{}}`, CodeInvalidRequest},
		{"no jsonrpc", `{"id":9,"method":"tools/list","params":{}}`, CodeInvalidRequest},
		{"no method", `{"jsonrpc":"2.0","id":9}`, CodeInvalidRequest},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"tools/list","params":{}}`, CodeInvalidRequest},
		{"id object", `{"jsonrpc":"2.0","id":{},"method":"tools/list","params":{}}`, CodeInvalidRequest},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"tools/list","params":{}}`, CodeInvalidRequest},
		{"id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"tools/list","params":{}}`, CodeInvalidRequest},
		{"id 1e3", `{"jsonrpc":"2.0","id":1e3,"method":"tools/list","params":{}}`, CodeInvalidRequest},
		{"id of bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"tools/list\"}", CodeInvalidRequest},
		{"method a number", `{"jsonrpc":"2.0","id":9,"method":5}`, CodeInvalidRequest},
		{"id twice", `{"jsonrpc":"2.0","id":9,"id":9,"method":"ping"}`, CodeInvalidRequest},
		{"id twice, escaped", `{"jsonrpc":"2.0","id":9,"\u0069d":8,"method":"ping"}`, CodeInvalidRequest},
		{"method twice", `{"jsonrpc":"2.0","id":9,"method":"ping","method":"tools/call"}`, CodeInvalidRequest},
		{"params twice", `{"jsonrpc":"2.0","id":9,"method":"ping","params":{},"params":{}}`, CodeInvalidRequest},
		{"empty batch", `[]`, CodeInvalidRequest},
		{"batch", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, CodeInvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBoth(t, func(t *testing.T, p *pipe, era Era) {
				n := len(p.lines())
				p.write(c.line + "\n")
				if p.nullErrors(c.code) != 1 || len(p.lines()) != n+1 {
					t.Fatalf("want one error %d with a null id: %q", c.code, p.lines()[n:])
				}
				p.goesOn(era)
			})
		})
	}
}

func TestPrettyPrintedIsAnErrorALine(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write("{\"jsonrpc\":\"2.0\",\n\"id\":7,\n\"method\":\"tools/list\"}\n")
		if n := p.nullErrors(CodeParse); n != 3 {
			t.Fatalf("%d errors, want 3", n)
		}
		p.goesOn(era)
	})
}

func TestCRLFAndSplitWrites(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		line := req(era, `"crlf"`, "tools/list", "")
		p.write(strings.TrimSuffix(line, "\n") + "\r\n")
		p.result(`"crlf"`)
		line = req(era, `"split"`, "tools/list", "")
		for i := range line {
			p.write(line[i : i+1])
		}
		p.result(`"split"`)
	})
}

func TestExactKeys(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		line := strings.Replace(req(era, "1", "no/such", ""), `"method"`, `"METHOD":"tools/list","method"`, 1)
		p.write(line)
		p.wantError("1", CodeMethodNotFound)
		p.write(req(era, "2", "tools/call", `"Name":"fail","name":"echo","ARGUMENTS":{"b":2},"arguments":{"a":1}`))
		if got := string(p.result("2")["structuredContent"]); got != `{"a":1}` {
			t.Fatalf("arguments %s", got)
		}
		p.write(req(era, "3", "tools/call", `"name":"fail","name":"echo"`))
		p.wantError("3", CodeInvalidParams)
	})
}

func TestBadTextGoesOn(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write(call(era, "5", "echo", "\"job\":\"\xff\xfe\""))
		p.write(call(era, "6", "echo", `"job":"\ud800"`))
		p.write(call(era, "7", "echo", "\"job\":\"\x00\""))
		for _, id := range []string{"5", "6"} {
			p.result(id)
		}
		if p.nullErrors(CodeParse) != 1 {
			t.Error("a raw NUL is no JSON")
		}
		p.write(strings.Replace(req(era, "8", "no/such", ""), "such", "su\xffch", 1))
		p.wantError("8", CodeMethodNotFound)
		p.goesOn(era)
	})
}

func TestDeepNesting(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write(req(era, `"deep"`, "tools/list", `"x":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)))
		if p.nullErrors(CodeParse) != 1 {
			t.Fatal("want a parse error")
		}
		p.write(call(era, `"less"`, "echo", `"x":`+strings.Repeat("[", 9_000)+strings.Repeat("]", 9_000)))
		p.result(`"less"`)
		p.goesOn(era)
	})
}

func TestLongLines(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write(req(era, `"big"`, "tools/list", `"x":"`+strings.Repeat("a", 17<<20)+`"`))
		if p.nullErrors(CodeInvalidRequest) != 1 || p.replies(`"big"`) != 0 {
			t.Fatal("want one error with a null id")
		}
		p.write(req(era, `"fits"`, "tools/list", `"x":"`+strings.Repeat("a", 16<<20-1000)+`"`))
		p.result(`"fits"`)
		p.goesOn(era)
	})
}

func TestStrayRepliesAndNotifications(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		n := len(p.lines())
		p.write(`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}` + "\n")
		for _, m := range []string{"notifications/no_such_thing", "notifications/roots/list_changed", "notifications/progress", "tools/call", "tools/list"} {
			p.write(`{"jsonrpc":"2.0","method":"` + m + `","params":{}}` + "\n")
		}
		if got := p.lines(); len(got) != n {
			t.Fatalf("said %q", got[n:])
		}
		p.goesOn(era)
	})
}

func TestMethodsAndParams(t *testing.T) {
	inBoth(t, func(t *testing.T, p *pipe, era Era) {
		p.write(req(era, "1", "no/such", "") + req(era, "2", "tools/call", `"name":"no_such"`))
		p.wantError("1", CodeMethodNotFound)
		if m := p.wantError("2", CodeInvalidParams); !strings.Contains(m.Error.Message, "no_such") {
			t.Errorf("message %q does not name the tool", m.Error.Message)
		}
		p.write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[1]}` + "\n")
		p.wantError("3", CodeInvalidParams)
		p.write(req(era, "4", "tools/call", `"name":"echo","arguments":[1]`) + req(era, "5", "tools/call", "") + req(era, "6", "tools/call", `"name":5`))
		for _, id := range []string{"4", "5", "6"} {
			p.wantError(id, CodeInvalidParams)
		}
		p.write(req(era, "7", "tools/call", `"name":"echo","arguments":null`) + req(era, "8", "tools/call", `"name":"ech\u006f"`))
		for _, id := range []string{"7", "8"} {
			if got := string(p.result(id)["structuredContent"]); got != "{}" {
				t.Errorf("%s: arguments %s", id, got)
			}
		}
		for i, m := range []string{"tasks/list", "tasks/result", "resources/list", "prompts/list", "logging/setLevel", "completion/complete", "notifications/initialized"} {
			id := string(rune('a' + i))
			p.write(req(era, `"`+id+`"`, m, `"taskId":"x","level":"info"`))
			p.wantError(`"`+id+`"`, CodeMethodNotFound)
		}
		p.goesOn(era)
	})
}
