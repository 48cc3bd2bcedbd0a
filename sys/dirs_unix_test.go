//go:build unix

package sys

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// vars is an environment for a look-up.
type vars map[string]string

func (v vars) get(name string) string { return v[name] }

func TestRuntimeDir(t *testing.T) {
	base := t.TempDir()
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(base, base+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  vars
		want string
		text string
	}{
		{vars{"BELFRY_RUNTIME_DIR": base + "/own", "XDG_RUNTIME_DIR": base}, base + "/own", ""},
		{vars{"XDG_RUNTIME_DIR": base + "/xdg"}, base + "/xdg/belfry", ""},
		{vars{"BELFRY_RUNTIME_DIR": open}, "", "lets others in"},
		{vars{"BELFRY_RUNTIME_DIR": base + "/link"}, "", "is not a directory"},
		{vars{"BELFRY_RUNTIME_DIR": base + "/file"}, "", "is not a directory"},
		{vars{"BELFRY_RUNTIME_DIR": "relative"}, "", "not an absolute path"},
	} {
		for range 2 { // made, and found
			got, err := RuntimeDir(c.env.get)
			if got != c.want || (err != nil) != (c.text != "") || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v: %q %v", c.env, got, err)
			}
		}
		if fi, err := os.Stat(c.want); c.want != "" && (err != nil || fi.Mode().Perm() != 0o700) {
			t.Errorf("%s: %v %v", c.want, fi, err)
		}
	}
}

func TestOtherUsersDir(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot make a directory of another user")
	}
	dir := t.TempDir() + "/d"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if got, err := RuntimeDir(vars{"BELFRY_RUNTIME_DIR": dir}.get); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("%q %v", got, err)
	}
}

// TestLinkInPlace: a link to what is somebody else's business, or a FIFO, in the
// place of a directory or a lock file is refused, and what it leads to is left.
func TestLinkInPlace(t *testing.T) {
	base := t.TempDir()
	target := filepath.Join(base, "target")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(target, 0o755); err != nil { // whatever the umask
		t.Fatal(err)
	}
	link, fifo := filepath.Join(base, "link"), filepath.Join(base, "fifo")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{link, fifo} {
		if err := OwnDir(dir); err == nil {
			t.Errorf("%s is a directory of ours", dir)
		}
	}
	if fi, err := os.Stat(target); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("the target of the link: %v %v", fi.Mode(), err)
	}
	if err := os.Symlink(filepath.Join(target, "made"), filepath.Join(base, "a.lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(t.Context(), filepath.Join(base, "a.lock")); err == nil {
		t.Error("a link was locked")
	}
	if _, err := os.Lstat(filepath.Join(target, "made")); err == nil {
		t.Error("a file was made behind a link")
	}
	unlock, err := Lock(t.Context(), fifo)
	if err == nil {
		err = unlock()
	}
	if err != nil {
		t.Errorf("lock a FIFO: %v", err)
	}
}

func TestConfigAndStateDir(t *testing.T) {
	for _, c := range []struct {
		env           vars
		config, state string
	}{
		{vars{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "HOME": "/h"}, "/c/belfry", "/s/belfry"},
		{vars{"XDG_CONFIG_HOME": "rel", "BELFRY_STATE_DIR": "/own", "XDG_STATE_HOME": "/s"}, "", "/own"},
		{vars{"BELFRY_STATE_DIR": "rel"}, "", ""},
		{vars{}, "", ""},
	} {
		if got, err := ConfigDir(c.env.get); got != c.config || (err == nil) != (c.config != "") {
			t.Errorf("%v: config %q %v", c.env, got, err)
		}
		if got, err := StateDir(c.env.get); got != c.state || (err == nil) != (c.state != "") {
			t.Errorf("%v: state %q %v", c.env, got, err)
		}
	}
	home := vars{"HOME": "/h"}
	for _, dir := range []func(func(string) string) (string, error){ConfigDir, StateDir} {
		if got, err := dir(home.get); err != nil || !strings.HasPrefix(got, "/h/") || filepath.Base(got) != "belfry" {
			t.Errorf("%q %v", got, err)
		}
	}
}
