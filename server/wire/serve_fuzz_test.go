package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// Whatever lines come, the connection goes on: a ping behind them is answered,
// and all that is said is JSON-RPC.
func FuzzServe(f *testing.F) {
	const open = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}` +
		"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for _, s := range []string{
		"", "{", "42", "[]", "null", "{}", "\r", open, open + open,
		open + `[{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}},{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]`,
		call(Modern, "3", "echo", `"a":[1,{}]`) + call(Modern, `"3"`, "quick", "") + cancelOf("3"),
		call(Legacy, "1e1", "echo", "") + call(Legacy, "9007199254740993", "echo", "") + open,
		req(Modern, "4", "subscriptions/listen", `"notifications":{}`) + req(Modern, "4", "server/discover", ""),
		strings.Replace(req(Modern, "5", "tools/list", ""), modernVersion, "1900-01-01", 1) + req(Legacy, "5", "server/discover", ""),
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"echo","name":"wait"}}` + `{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}`,
		open + `{"jsonrpc":"2.0","id":9,"method":"ping","params":[1]}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		f.Add([]byte(s))
	}
	front := toyFront(f, func(o *Options) {
		withMethods(o)
		o.Drain, o.Log = -1, nil
	})
	f.Fuzz(func(t *testing.T, input []byte) {
		in := append(bytes.Clone(input), "\n"+`{"jsonrpc":"2.0","id":"the last of all","method":"ping"}`+"\n"...)
		var out bytes.Buffer
		if err := front.Serve(t.Context(), bytes.NewReader(in), &out); err != nil {
			t.Fatalf("%q ended the connection: %v", input, err)
		}
		answered := 0
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) || line[len(line)-1] != '\n' {
				t.Fatalf("%q is answered by %q", input, line)
			}
			if bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","id":"the last of all","result":{}`)) {
				answered++
			}
		}
		if answered != 1 {
			t.Fatalf("after %q a ping has %d replies: %q", input, answered, out.Bytes())
		}
	})
}
