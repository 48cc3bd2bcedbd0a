//go:build unix

package sys

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A path beyond the room of a socket's address works, and leaves no link behind.
func TestLongEndpoint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120), strings.Repeat("e", 120))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	before := ours(t)
	name := filepath.Join(dir, "d1.sock")
	e, err := ListenEndpoint(name)
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Lstat(name); err != nil || fi.Mode().Type() != fs.ModeSocket || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi, err)
	}
	greet(t, e)
	talk(t, name)
	if _, err := ListenEndpoint(name); err == nil {
		t.Error("listened twice")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
	if after := ours(t); after > before {
		t.Errorf("%d directories of ours in /tmp, %d before", after, before)
	}
	if _, err := ListenEndpoint(filepath.Join(dir, strings.Repeat("f", 120))); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a name too long on its own: %v", err)
	}
}

// ours counts the directories of this process's endpoints.
func ours(t *testing.T) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("/tmp", tempPrefix+pidText()+"-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestEndpointDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenEndpoint(filepath.Join(dir, "s")); err == nil || !strings.Contains(err.Error(), "lets others in") {
		t.Errorf("in an open directory: %v", err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := ListenEndpoint(filepath.Join(dir, "s")); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("in another user's directory: %v", err)
		}
	}
}

// An endpoint that is closed late leaves its successor alone.
func TestEndpointSuccessor(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "s")
	old, err := ListenEndpoint(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	next, err := ListenEndpoint(name)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	greet(t, next)
	talk(t, name)
}

func TestIsTempEndpoint(t *testing.T) {
	for name, want := range map[string]bool{
		"/tmp/belfry-12-ab-cd/c.sock":       true,
		"/tmp/belfry-/c.sock":               false,
		"/tmp/belfry-a.b/c.sock":            false,
		"/tmp/belfry-12/d.sock":             false,
		"/tmp/other-12/c.sock":              false,
		"/tmp/x/belfry-12/c.sock":           false,
		"/tmp/../tmp/belfry-12/c.sock":      false,
		"/tmp/belfry-12/../belfry-1/c.sock": false,
		"tmp/belfry-12/c.sock":              false,
		"/etc/belfry-12/c.sock":             false,
		"":                                  false,
	} {
		if got := IsTempEndpoint(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestRemoveTempEndpoint(t *testing.T) {
	e, err := ListenTemp()
	if err != nil {
		t.Fatal(err)
	}
	dir := TempEndpointDir(e.Name())
	keep := filepath.Join(dir, "precious")
	if err := os.WriteFile(keep, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RemoveTempEndpoint(e.Name()); err == nil {
		t.Error("removed a directory that holds another file")
	}
	if _, err := os.Lstat(keep); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(e.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
	if err := os.Remove(keep); err != nil {
		t.Fatal(err)
	}
	for range 2 { // there, and not there
		if err := RemoveTempEndpoint(e.Name()); err != nil {
			t.Error(err)
		}
	}
	// Closing what somebody removed is no reason to complain.
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	link := "/tmp/" + tempPrefix + pidText() + "-link"
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	if err := RemoveTempEndpoint(link + "/" + tempSocket); err == nil {
		t.Error("followed a link")
	}
	if err := RemoveTempEndpoint("/etc/passwd"); err == nil {
		t.Error("took any path")
	}
}

func pidText() string { return strconv.Itoa(os.Getpid()) }

// Whoever hangs up at once is served as anybody is, and keeps nobody away.
func TestEndpointHangUp(t *testing.T) {
	e, err := ListenTemp()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for range 3 {
		c, err := net.Dial("unix", e.Name())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	client, err := net.Dial("unix", e.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write([]byte("!")); err != nil {
		t.Fatal(err)
	}
	for tries := 1; ; tries++ {
		c, _, err := e.Accept()
		if err != nil {
			t.Fatalf("accept %d: %v", tries, err)
		}
		n, _ := c.Read(make([]byte, 1))
		c.Close()
		if n == 1 {
			return
		}
	}
}
