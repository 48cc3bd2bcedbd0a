package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The lines of a script, and what its replies must be.
const (
	hello25 = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"VERSION","capabilities":{},"clientInfo":{"name":"s","version":"1"}}}`
	ready   = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	meta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	lister  = `{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"list","arguments":{}}}`
	modern  = `{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"list","arguments":{},` + meta + `}}`
)

func opened(version string) string {
	return strings.Replace(hello25, "VERSION", version, 1) + "\n" + ready + "\n"
}

func with(line, id string) string { return strings.Replace(line, "ID", id, 1) + "\n" }

// Whole scripts are written at once and the input ends: every request is
// answered under its id, byte for byte, and every mistake with its code. A
// reply is told as id and code, 0 for a result; an array as those in brackets.
func TestScripts(t *testing.T) {
	t.Parallel()
	many, manyWant := opened("2025-11-25"), []string{`"hello" 0`}
	for i := range 24 {
		line := []string{lister, `{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{}}`, modern}[i%3]
		many += with(line, fmt.Sprint(i))
		manyWant = append(manyWant, fmt.Sprint(i, " 0"))
	}
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"a script of requests", many, manyWant},
		{"a last line without its newline", opened("2025-11-25") + strings.TrimSpace(with(lister, "1")), []string{`"hello" 0`, "1 0"}},
		{"two messages on one line", opened("2025-11-25") + strings.TrimSpace(with(lister, "1")) + with(lister, "2") + with(lister, "3"),
			[]string{`"hello" 0`, "null -32700", "3 0"}},
		{"JSON over several lines", "{\n\"jsonrpc\":\"2.0\"\n}\n" + with(modern, "1"), []string{"null -32700", "null -32700", "null -32700", "1 0"}},
		{"ids are echoed as they are written", opened("2025-11-25") + with(lister, "0") + with(lister, `""`) + with(lister, "9007199254740993") +
			with(modern, `"\u0041\/\"é"`) + with(modern, "-7") + with(lister, "1.5") + with(lister, "1e1"),
			[]string{`"hello" 0`, "0 0", `"" 0`, "9007199254740993 0", `"\u0041\/\"é" 0`, "-7 0", "null -32600", "null -32600"}},
		{"nothing opened", with(lister, "1") + with(modern, "2"), []string{"1 -32602", "2 0"}},
		{"opened twice", opened("2025-11-25") + strings.ReplaceAll(opened("2025-11-25"), "hello", "again") + with(lister, "1"),
			[]string{`"hello" 0`, `"again" -32600`, "1 0"}},
		{"a call before the handshake ends", strings.Replace(hello25, "VERSION", "2025-06-18", 1) + "\n" + with(lister, "1") + ready + "\n" + with(lister, "2"),
			[]string{`"hello" 0`, "1 -32600", "2 0"}},
		{"a batch where there are none", opened("2025-06-18") + "[" + strings.TrimSpace(with(lister, "1")) + "]\n" + with(lister, "2"),
			[]string{`"hello" 0`, "null -32600", "2 0"}},
		{"a modern batch", "[" + strings.TrimSpace(with(modern, "1")) + "]\n" + with(modern, "2"), []string{"null -32600", "2 0"}},
		{"a batch with a notification", opened("2025-03-26") + "[" + strings.TrimSpace(with(lister, "1")) + "," + ready + "," + strings.TrimSpace(with(lister, "2")) + "]\n",
			[]string{`"hello" 0`, "[1 0,2 0]"}},
		{"an id twice in a batch", opened("2025-03-26") + "[" + strings.TrimSpace(with(lister, "1")) + "," + strings.TrimSpace(with(lister, "1")) + "]\n" + with(lister, "2"),
			[]string{`"hello" 0`, "[1 0,null -32600]", "2 0"}},
		{"an empty batch", opened("2025-03-26") + "[]\n" + with(lister, "1"), []string{`"hello" 0`, "null -32600", "1 0"}},
		{"parameters that are an array", opened("2025-11-25") + `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}` + "\n" + with(lister, "2"),
			[]string{`"hello" 0`, "1 -32602", "2 0"}},
		{"an unknown revision", strings.Replace(with(modern, "1"), "2026-07-28", "1900-01-01", 1) + with(modern, "2"), []string{"1 -32022", "2 0"}},
		{"an envelope without capabilities", strings.Replace(with(modern, "1"), `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1), []string{"1 -32602"}},
		{"initialize after a modern call", with(modern, "1") + opened("2025-11-25") + with(lister, "2") + with(modern, "3"),
			[]string{"1 0", `"hello" 0`, "2 0", "3 0"}},
		{"methods that do not exist", opened("2025-11-25") + `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"ping","params":{` + meta + `}}` + "\n" + `{"jsonrpc":"2.0","id":3,"method":"tasks/list","params":{}}` + "\n",
			[]string{`"hello" 0`, "1 -32601", "2 -32601", "3 -32601"}},
		{"a reply to nothing", opened("2025-11-25") + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + with(lister, "1"), []string{`"hello" 0`, "1 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := prepare(t, setup{})
			cmd := s.command(setup{})
			cmd.Stdin = strings.NewReader(c.script)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, s.stderr)
			}
			var got []string
			for line := range bytes.Lines(out) {
				got = append(got, told(t, line))
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}

// told is a reply as id and code.
func told(t *testing.T, line []byte) string {
	t.Helper()
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte("[")) {
		var list []json.RawMessage
		if err := json.Unmarshal(line, &list); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		var parts []string
		for _, one := range list {
			parts = append(parts, told(t, one))
		}
		slices.Sort(parts)
		return "[" + strings.Join(parts, ",") + "]"
	}
	var m struct {
		ID     json.RawMessage
		Result json.RawMessage
		Error  struct{ Code int }
	}
	if err := json.Unmarshal(line, &m); err != nil || m.ID == nil || (m.Result == nil) == (m.Error.Code == 0) {
		t.Fatalf("no reply: %s (%v)", line, err)
	}
	return fmt.Sprint(string(m.ID), " ", m.Error.Code)
}
