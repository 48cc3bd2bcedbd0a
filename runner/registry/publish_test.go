package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fresh is a registry in a directory of its own.
func fresh(t *testing.T) *Registry {
	t.Helper()
	r := Open(filepath.Join(t.TempDir(), "state", "runs"))
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	return r
}

func publish(t *testing.T, r *Registry, rec Record) *Published {
	t.Helper()
	if rec.StartedAt.IsZero() {
		rec.StartedAt = time.Now()
	}
	p, err := r.Publish(rec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// files are the names beside the live records, without directories.
func files(t *testing.T, r *Registry) []string {
	t.Helper()
	names, err := os.ReadDir(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, d := range names {
		if !d.IsDir() {
			left = append(left, d.Name())
		}
	}
	return left
}

func TestPublishAndRemove(t *testing.T) {
	r := fresh(t)
	p := publish(t, r, Record{RunID: "a", JSONL: "/x/ev", Labels: map[string]string{"k": "v"}})
	if got := files(t, r); len(got) != 2 {
		t.Errorf("files: %v", got)
	}
	data, err := os.ReadFile(p.Path())
	if err != nil {
		t.Fatal(err)
	}
	rec, lock, err := parseRecord(data)
	if err != nil || rec.RunID != "a" || rec.JSONL != "/x/ev" || rec.Labels["k"] != "v" || lock != p.stem+".lock" {
		t.Errorf("%+v %s %v", rec, lock, err)
	}
	code := 7
	if err := p.Remove(Outcome{Code: 7, Source: "child_exit", ChildCode: &code}); err != nil {
		t.Error(err)
	}
	if got := files(t, r); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	ended, err := r.Ended("a")
	if err != nil || len(ended) != 1 || ended[0].Code != 7 || *ended[0].ChildCode != 7 || ended[0].JSONL != "/x/ev" {
		t.Errorf("%+v %v", ended, err)
	}
	if other, err := r.Ended("b"); err != nil || len(other) != 0 {
		t.Errorf("%+v %v", other, err)
	}
}

// A record that readers would not take is refused and leaves no lock.
func TestPublishTooLong(t *testing.T) {
	r := fresh(t)
	if _, err := r.Publish(Record{RunID: "a", JSONL: strings.Repeat("p", MaxRecord)}); err == nil {
		t.Error("published")
	}
	if got := files(t, r); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// A server's record goes without leaving anything.
func TestWithdraw(t *testing.T) {
	r := OpenServers(filepath.Join(t.TempDir(), "servers"))
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	p := publish(t, r, Record{RunID: "mcp-1-2", Labels: map[string]string{"role": "mcp"}})
	l, err := r.List()
	if err != nil || len(l.Entries) != 1 || l.Entries[0].Health != Live || !strings.HasPrefix(filepath.Base(l.Entries[0].Path), "server-") {
		t.Errorf("%+v %v", l, err)
	}
	if err := p.Withdraw(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(r.Dir()); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestServersDir(t *testing.T) {
	abs := t.TempDir()
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"BELFRY_REGISTRY_DIR": abs}, filepath.Join(abs, "servers")},
		{map[string]string{"BELFRY_RUNTIME_DIR": abs}, filepath.Join(abs, "servers")},
		{map[string]string{"BELFRY_RUNTIME_DIR": "x"}, ""},
	} {
		got, err := ServersDir(func(k string) string { return c.env[k] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q %v", c.env, got, err)
		}
	}
}
