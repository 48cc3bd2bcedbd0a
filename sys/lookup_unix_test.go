//go:build unix

package sys

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFindExecutable(t *testing.T) {
	base := t.TempDir()
	put := func(name string, mode os.FileMode) {
		full := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(full, mode); err != nil {
			t.Fatal(err)
		}
	}
	put("bin/tool", 0o755)
	put("later/tool", 0o755)
	put("bin/plain", 0o644)
	put("later/plain", 0o700)
	put("bin/only", 0o644)
	if err := os.Mkdir(base+"/bin/folder", 0o755); err != nil {
		t.Fatal(err)
	}
	path := base + "/bin::" + base + "/later"
	for _, c := range []struct {
		name, path string
		want       string // below base
		code       Code
		text       string
	}{
		{"tool", path, "bin/tool", "", ""},
		{"tool", base + "/nowhere:" + base + "/later", "later/tool", "", ""},
		{"plain", path, "later/plain", "", ""}, // an unusable one is passed over
		{"only", path, "", CodeNotExecutable, "/bin/only: has no execute bit"},
		{"folder", path, "", CodeNotExecutable, "is a directory"},
		{"nothing", path, "", CodeNotFound, "nothing: not found in PATH " + path},
		{"tool", "", "", CodeNotFound, "PATH is empty"},
		{"tool", "bin", "bin/tool", "", ""}, // relative entries start at dir
		{"tool", ":", "", CodeNotFound, "not found in PATH :"},
		{"bin/tool", "", "bin/tool", "", ""},
		{"./bin/tool", "", "bin/tool", "", ""},
		{base + "/later/tool", path, "later/tool", "", ""},
		{"./nothing", path, "", CodeNotFound, "/nothing: no such file"},
		{"bin/tool/x", path, "", CodeNotFound, "no such file"},
		{"", path, "", CodeNotFound, "empty"},
		{"a\x00b", path, "", CodeNulInArgument, "NUL"},
	} {
		got, err := FindExecutable(c.name, base, c.path, "")
		if c.want != "" {
			if err != nil || got != filepath.Join(base, c.want) {
				t.Errorf("%q in %q: %q %v", c.name, c.path, got, err)
			}
			continue
		}
		se, ok := errors.AsType[*StartError](err)
		if !ok || se.Code != c.code || !strings.Contains(se.Error(), c.text) {
			t.Errorf("%q in %q: %v, want %s with %q", c.name, c.path, err, c.code, c.text)
		}
	}
}

func TestShell(t *testing.T) {
	path, argv := Shell("echo 'a b' | wc", "ignored")
	if path != "/bin/sh" || !slices.Equal(argv, []string{"/bin/sh", "-c", "echo 'a b' | wc"}) {
		t.Errorf("%s %q", path, argv)
	}
}

func TestStamp(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := Stamp(name)
	if err != nil || first == (FileStamp{}) || first.Size != 1 {
		t.Fatalf("%+v %v", first, err)
	}
	if again, err := Stamp(name); err != nil || again != first {
		t.Errorf("%+v %v", again, err)
	}
	if err := os.Symlink(name, name+".link"); err != nil {
		t.Fatal(err)
	}
	if link, err := Stamp(name + ".link"); err != nil || link != first {
		t.Errorf("through a link: %+v %v", link, err)
	}
	if err := os.WriteFile(name+".new", []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
	if other, err := Stamp(name); err != nil || other == first {
		t.Errorf("replaced: %+v %v", other, err)
	}
	if _, err := Stamp(name + ".none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
