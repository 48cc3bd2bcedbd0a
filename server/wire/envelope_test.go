package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"\u0041","method":"a/b","params":{"_meta":{"x":[1,{"a":"}"}]}}}`,
		` { "jsonrpc" : "2.0" , "\u0069d" : -0 , "method":"x","params" : null } `, `[{"jsonrpc":"2.0"},1,[]]`, `{"a":1}`, `42`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, ok := decode(line) // must not panic on what is no JSON either
		readParams(line)
		for e := array(line); e.next(); {
			decode(e.val)
		}
		if !valid(line) {
			return
		}
		// What encoding/json says of the top level, with its keys made exact.
		var all map[string]json.RawMessage
		if json.Unmarshal(line, &all) != nil || all == nil {
			if ok {
				t.Fatalf("%q is no object", line)
			}
			return
		}
		n := 0
		for it := object(line); it.next(); n++ {
			if _, is := all[string(it.key)]; !is {
				t.Fatalf("key %q is not in %q", it.key, line)
			}
			if !json.Valid(it.val) {
				t.Fatalf("value %q of %q", it.val, line)
			}
		}
		if n < len(all) {
			t.Fatalf("%d of %d members of %q", n, len(all), line)
		}
		for key, val := range all {
			if got := member(line, key); !bytes.Equal(bytes.TrimSpace(got), bytes.TrimSpace(val)) {
				t.Fatalf("member %q of %q is %q, want %q", key, line, got, val)
			}
		}
		if !ok {
			return
		}
		var version, method string
		_ = json.Unmarshal(all["jsonrpc"], &version)
		_ = json.Unmarshal(all["method"], &method)
		if version != "2.0" || method != m.method {
			t.Fatalf("%q: version %q, method %q and %q", line, version, method, m.method)
		}
		if m.id != nil {
			reply := appendError(nil, m.id, &Error{Code: 1, Message: m.method})
			if !json.Valid(reply) || bytes.Count(reply, []byte("\n")) != 1 {
				t.Fatalf("reply %q", reply)
			}
			if !validID(m.id) || len(idKey(m.id)) == 0 {
				t.Fatalf("id %q", m.id)
			}
		}
	})
}

func FuzzString(f *testing.F) {
	f.Add("plain")
	f.Add("<&>\u2028\u2029\xff\x00\n\r\t\"\\\x7fé\U0001F600")
	f.Fuzz(func(t *testing.T, s string) {
		q := AppendString(nil, s)
		var got string
		if err := json.Unmarshal(q, &got); err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); got != want && strings.Count(got, "\uFFFD") < strings.Count(want, "\uFFFD") {
			t.Fatalf("%q became %q", s, got)
		}
		if strings.ContainsAny(string(q), "\n\r\u2028\u2029") {
			t.Fatalf("%q breaks the line", q)
		}
		// encoding/json without HTML escaping is the model, byte for byte.
		var model bytes.Buffer
		enc := json.NewEncoder(&model)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		var again string
		if err := json.Unmarshal(model.Bytes(), &again); err != nil || again != got {
			t.Fatalf("%q, encoding/json has %q", got, again)
		}
	})
}

func TestResultsAreStamped(t *testing.T) {
	s := newStamp([]byte(`{"name":"x"}`))
	for in, want := range map[string]string{
		`{}`:                                  `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}}`,
		`{"a":1}`:                             `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}},"a":1}`,
		`{"resultType":"task"}`:               `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}},"resultType":"task"}`,
		`{"_meta":{},"a":1}`:                  `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}},"a":1}`,
		`{ "a" : 1 , "_meta": {"b" : [2] } }`: `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"},"b":[2]},"a":1}`,
		"{\"a\":[1,\n2],\"_meta\":{\"io.modelcontextprotocol/serverInfo\":1}}": `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":1},"a":[1,2]}`,
	} {
		if got := string(s.appendObject(nil, Modern, []byte(in))); got != want {
			t.Errorf("%s became\n%s, want\n%s", in, got, want)
		}
		if got := s.appendObject(nil, Legacy, []byte(in)); !json.Valid(got) || bytes.IndexByte(got, '\n') >= 0 {
			t.Errorf("legacy %s became %s", in, got)
		}
	}
}

func TestProgressNumbers(t *testing.T) {
	for in, want := range map[float64]string{0: "0", -3: "-3", 2.5: "2.5", 1e15: "1000000000000000", 1e300: "1e+300"} {
		line, ok := appendProgress(nil, []byte("1"), in, "")
		if !ok || !strings.Contains(string(line), `"progress":`+want+"}") || !json.Valid(line) {
			t.Errorf("%v: %s", in, line)
		}
	}
	for _, in := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, ok := appendProgress(nil, []byte("1"), in, ""); ok {
			t.Errorf("%v was encoded", in)
		}
	}
}
