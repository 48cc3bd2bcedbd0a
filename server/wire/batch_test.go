package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestBatches(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       []string // error codes or "ok", by id; in any order
	}{
		{"with a notification", `[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]`, []string{"7 ok", "8 ok"}},
		{"one id twice", `[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":7,"method":"ping"}]`, []string{"7 ok", "null -32600"}},
		{"no message inside", `[1,{"jsonrpc":"2.0","id":7,"method":"ping"},[]]`, []string{"null -32600", "7 ok", "null -32600"}},
		{"tools", strings.TrimSpace("[" + call(Legacy, "1", "wait", `"ms":100`) + "," + call(Legacy, "2", "quick", "") + "," + call(Legacy, "3", "nope", "") + "," + call(Legacy, "4", "echo", "") + "]"), []string{"2 ok", "3 -32602", "4 ok", "1 ok"}},
		{"second initialize", strings.TrimSpace("[" + hello("2025-03-26", "{}") + "]"), []string{`"init" -32600`}},
		{"modern inside", strings.TrimSpace("[" + req(Modern, "1", "tools/list", "") + "]"), []string{"1 -32600"}},
		{"cancelled inside", strings.TrimSpace("[" + call(Legacy, "1", "wait", `"ms":900`) + `,{"jsonrpc":"2.0","id":2,"method":"ping"},` + cancelOf("1") + "]"), []string{"2 ok"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := open(t, toyFront(t, nil), Legacy, "2025-03-26")
				n := len(p.lines())
				p.write(strings.ReplaceAll(c.line, "\n", " ") + "\n")
				time.Sleep(2 * time.Second)
				got := p.lines()[n:]
				if len(got) != 1 {
					t.Fatalf("said %q", got)
				}
				var replies []struct {
					ID     json.RawMessage
					Result json.RawMessage
					Error  *struct{ Code int64 }
				}
				if err := json.Unmarshal([]byte(got[0]), &replies); err != nil {
					t.Fatalf("%v: %q", err, got)
				}
				left := map[string]int{}
				for _, w := range c.want {
					left[w]++
				}
				for _, r := range replies {
					s := string(r.ID) + " ok"
					if r.Error != nil {
						if r.ID == nil {
							r.ID = json.RawMessage("null")
						}
						s = fmt.Sprint(string(r.ID), " ", r.Error.Code)
					} else if r.Result == nil {
						s = "nothing"
					}
					left[s]--
				}
				for w, k := range left {
					if k != 0 {
						t.Errorf("%s: off by %d in %s", w, k, got[0])
					}
				}
				p.goesOn(Legacy)
				p.finish()
			})
		})
	}
	bubble(t, func(t *testing.T) {
		p := open(t, toyFront(t, nil), Legacy, "2025-03-26")
		n := len(p.lines())
		p.write(`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":1,"result":{}}]` + "\n")
		if got := p.lines(); len(got) != n {
			t.Errorf("a batch without requests was answered: %q", got[n:])
		}
		p.write("[]\n")
		if p.nullErrors(CodeInvalidRequest) != 1 {
			t.Error("an empty batch was not refused")
		}
		p.finish()
	})
}
