package server

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/server/wire"
)

// encoded is what encoding/json writes without HTML escaping.
func encoded(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func FuzzString(f *testing.F) {
	f.Add("plain <&> text")
	f.Add("q\"b\\n\n\r\t\b\f\x00\x1f\x7f é漢😀\ufffd\u2028x\u2029")
	f.Add("\xff\xfea\xe6\xbc\xe2\x80\xa8\xe2\x80")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(wire.AppendString(nil, s)), encoded(t, s); got != want {
			t.Errorf("%q: wrote %s, want %s", s, got, want)
		}
	})
}

func TestObject(t *testing.T) {
	o := newObject(0)
	o.open("empty")
	o.end()
	o.str("brace", "{")
	o.num("n", -3)
	o.strIf("none", "")
	o.flagIf("nil", nil)
	o.timeIf("zero", time.Time{})
	o.time("t", time.Date(2026, 7, 28, 23, 59, 59, 999_999_999, time.FixedZone("", 3600)))
	o.open("in")
	o.count("big", 1<<64-1)
	o.flag("b", false)
	o.end()
	const want = `{"empty":{},"brace":"{","n":-3,"t":"2026-07-28T22:59:59.999Z","in":{"big":18446744073709551615,"b":false}}`
	if got := string(o.close()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestQuoted(t *testing.T) {
	for s, want := range map[string]string{
		"a\"b\n":                                `"a\"b\n"`,
		"":                                      `""`,
		string(bytes.Repeat([]byte("é"), 1000)): `"` + string(bytes.Repeat([]byte("é"), 80)) + `"…`,
		string(bytes.Repeat([]byte("a"), 81)):   `"` + string(bytes.Repeat([]byte("a"), 80)) + `"…`,
		string(bytes.Repeat([]byte("a"), 80)):   `"` + string(bytes.Repeat([]byte("a"), 80)) + `"`,
	} {
		if got := quoted(s); got != want {
			t.Errorf("%.20q: got %s, want %s", s, got, want)
		}
	}
}
