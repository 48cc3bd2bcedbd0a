//go:build linux

package sys

import (
	"errors"
	"strings"
	"testing"
)

func TestParseRecord(t *testing.T) {
	good := record{Version: recordVersion, Boot: "b", PID: 7, Start: 8, Control: "/c/belfry-1"}
	first, err := good.encode()
	if err != nil {
		t.Fatal(err)
	}
	good.Made = fileID{1, 2}
	second, _ := good.encode()
	for _, c := range []struct {
		name, text string
		made       bool
		err        string // "": none
	}{
		{"one line", string(first), false, ""},
		{"two lines", string(first) + string(second), true, ""},
		{"the second line torn", string(first) + string(second[:9]), false, ""},
		{"empty", "", false, errNothingNoted.Error()},
		{"the first line torn", string(first[:len(first)-1]), false, errNothingNoted.Error()},
		{"no JSON", "hello\n", false, "no JSON"},
		{"the last line no JSON", string(first) + "\n", false, "no JSON"},
		{"another version", `{"version":2,"boot":"b","pid":1,"container":"/c"}` + "\n", false, "version 2"},
		{"no boot", `{"version":1,"pid":1,"container":"/c"}` + "\n", false, "lacks"},
		{"no container", `{"version":1,"boot":"b","pid":1}` + "\n", false, "lacks"},
		{"no pid", `{"version":1,"boot":"b","container":"/c"}` + "\n", false, "lacks"},
	} {
		r, err := parseRecord([]byte(c.text))
		switch {
		case c.err == "" && (err != nil || r.Control != good.Control || (r.Made != fileID{}) != c.made):
			t.Errorf("%s: %+v %v", c.name, r, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"version":1,"boot":"b","pid":1,"container":"/c"}` + "\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRecord(text)
		if err != nil {
			return
		}
		again, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseRecord(again)
		if err != nil || back != r {
			t.Errorf("%+v came back as %+v: %v", r, back, err)
		}
		if _, err := parseRecord(append(again, "torn"...)); errors.Is(err, errNothingNoted) {
			t.Error("a whole line was not seen")
		}
	})
}
