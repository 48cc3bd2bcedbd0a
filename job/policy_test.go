package job

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

func TestPolicyShape(t *testing.T) {
	for _, text := range []string{
		"", "{", "[]", "null", "42", `{"allow":"sh"}`, `{"allow":[1]}`, `{"allow":null}`, `{"Allow":["true"]}`,
		`{"allow":["true"],"deny":[]}`, `{"allow":[],"allow":["true"]}`, `{"allow":["true"]} x`, `{}`, `{"allow":["true"]`,
	} {
		if p, err := ParsePolicy([]byte(text), "/bin", ""); err == nil || len(p.Allow) > 0 {
			t.Errorf("%q was taken: %v", text, p.Allow)
		}
	}
	p, err := ParsePolicy([]byte(" {\"allow\" : [ ] }\n"), "/bin", "")
	if err != nil || len(p.Allow) != 0 {
		t.Errorf("an empty list: %v, %v", p.Allow, err)
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"allow":["true","/bin/sh"]}`))
	f.Add([]byte(`{"allow":[]}x`))
	f.Add([]byte(`{"\u0061llow":["a"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		allow, err := decodePolicy(text)
		if err != nil && len(allow) > 0 {
			t.Errorf("refused, yet it allows %q", allow)
		}
	})
}

// program makes an executable file and gives its path. It is never run.
func program(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDecide(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links and execute bits are Unix's")
	}
	bin, other := t.TempDir(), t.TempDir()
	tool := program(t, bin, "tool")
	same := program(t, other, "tool")
	link := filepath.Join(other, "alias")
	if err := os.Symlink(tool, link); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, entry, candidate string
		want                   bool
	}{
		{"bare name", "tool", tool, true},
		{"path", tool, tool, true},
		{"candidate is a link", "tool", link, true},
		{"entry is a link", link, tool, true},
		{"same name elsewhere", "tool", same, false},
		{"relative path", "./tool", tool, false},
		{"nothing there", "nothing", tool, false},
		{"empty", "", tool, false},
	} {
		p, err := ParsePolicy([]byte(`{"allow":["`+tc.entry+`"]}`), bin, "")
		if err != nil {
			t.Fatal(err)
		}
		if entry, ok := p.Decide(tc.candidate); ok != tc.want || ok && entry != tc.entry {
			t.Errorf("%s: %q, %v", tc.name, entry, ok)
		}
	}
}

// What an entry leads to is looked at now, not when the file was read.
func TestDecideFollowsTheEntry(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links are Unix's")
	}
	bin := t.TempDir()
	v1, v2 := program(t, bin, "tool-1"), program(t, bin, "tool-2")
	link := filepath.Join(bin, "tool")
	if err := os.Symlink(v1, link); err != nil {
		t.Fatal(err)
	}
	p, err := ParsePolicy([]byte(`{"allow":["tool","later"]}`), bin, "")
	if err != nil {
		t.Fatal(err)
	}
	allowed := func(path string) bool { _, ok := p.Decide(path); return ok }
	want(t, "first version", allowed(v1), true)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(v2, link); err != nil {
		t.Fatal(err)
	}
	want(t, "old version after the switch", allowed(v1), false)
	want(t, "new version after the switch", allowed(v2), true)
	want(t, "installed later", allowed(program(t, bin, "later")), true)
}

func TestPolicyCache(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &policyCache{file: PolicyFile{Path: file, Origin: "BELFRY_POLICY_FILE"}, path: DefaultPath}
	fails := func(gist string) {
		t.Helper()
		p, err := c.load(time.Now())
		if err == nil || !strings.Contains(err.Error(), gist) {
			t.Errorf("load: %v; want %q", err, gist)
			return
		}
		if len(p.Allow) != 0 || strings.Contains(err.Error(), dir) {
			t.Errorf("allows %q, says %q", p.Allow, err)
		}
	}
	fails("does not exist")
	write(`{"allow":[1]}`)
	fails("BELFRY_POLICY_FILE must be a JSON object")
	// Same size, same second: a file that was just written is read again.
	write(`{"allow":[]}`)
	if p, err := c.load(time.Now()); err != nil || len(p.Allow) != 0 {
		t.Fatal(p.Allow, err)
	}
	write(`{"allow":["a"]}`)
	if p, err := c.load(time.Now()); err != nil || len(p.Allow) != 1 {
		t.Fatal(p.Allow, err)
	}
	// An old file is parsed once.
	later := time.Now().Add(time.Hour)
	first, err := c.load(later)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := c.load(later)
	if &first.Allow[0] != &second.Allow[0] {
		t.Error("an unchanged file was parsed again")
	}
	// Another in its place is read, whatever its size and time of modification.
	was, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(dir, "next")
	if err := os.WriteFile(next, []byte(`{"allow":["b"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(next, was.ModTime(), was.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
	if p, err := c.load(later); err != nil || len(p.Allow) != 1 || p.Allow[0] != "b" {
		t.Errorf("another file of the same size and time: %v, %v", p.Allow, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	fails("does not exist")
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	fails("not a regular file")
	if _, err := (PolicyFile{}).Load("", ""); err == nil {
		t.Error("no file allows something")
	}
}

// A decision and the file it was made on belong together, wherever the link
// that led there points by now.
func TestApproveGivesTheRealPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links are Unix's")
	}
	bin := t.TempDir()
	good := program(t, bin, "good")
	link := filepath.Join(bin, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(good)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePolicy([]byte(`{"allow":["good"]}`), bin, "")
	if err != nil {
		t.Fatal(err)
	}
	entry, got, ok := p.Approve(link)
	want(t, "approved", ok, true)
	want(t, "entry", entry, "good")
	want(t, "real path", got, real)
}

// The approved file itself is started, under the name that was asked for.
func TestStartsWhatWasApproved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links are Unix's")
	}
	tree := newFakeTree()
	s, sp := fakeStore(t, Config{}, tree)
	started := make(chan sys.Spec, 1)
	next := s.cfg.Launcher
	s.cfg.Launcher = fakeLauncher{func(sp sys.Spec) (sys.Tree, error) {
		started <- sp
		return next.Start(t.Context(), sp)
	}}
	link := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(sp.Command[0], link); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(link)
	if err != nil {
		t.Fatal(err)
	}
	sp.Command = []string{link, "x"}
	j := mustRun(t, s, sp)
	got := <-started
	want(t, "path", got.Path, real)
	want(t, "argv[0]", got.Argv[0], link)
	if stamp, err := sys.Stamp(real); err != nil || got.Approved != stamp {
		t.Errorf("approved %+v, is %+v, %v", got.Approved, stamp, err)
	}
	tree.all(0, 0)
	<-j.Done()
}
