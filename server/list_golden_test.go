package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden holds text against a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s differs; if that is wanted, go test ./server -update\n%s", name, diff)
	}
}

// The list of tools is what every conversation pays for, so its size is
// bounded as a whole line, in both eras.
func TestToolsList(t *testing.T) {
	th := newTheatre(t, nil, nil)
	c := connect(t, th.Server)
	c.open()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	legacy := c.reply(`1`)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + envelope + `}}`)
	modern := c.reply(`2`)
	for era, line := range map[string]string{"legacy": legacy, "modern": modern} {
		if n := len(line) + 1; n > 14<<10 {
			t.Errorf("the tools/list reply of the %s era takes %d bytes, more than %d", era, n, 14<<10)
		}
	}
	var a, b struct {
		Result struct{ Tools json.RawMessage }
	}
	if err := json.Unmarshal([]byte(legacy), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(modern), &b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Result.Tools, b.Result.Tools) {
		t.Errorf("the eras list different tools:\n%s\n%s", a.Result.Tools, b.Result.Tools)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, a.Result.Tools, "", "  "); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	golden(t, "tools_list.golden.json", out.Bytes())
	t.Logf("tools/list takes %d bytes in the legacy era, %d in the modern one", len(legacy)+1, len(modern)+1)
}
