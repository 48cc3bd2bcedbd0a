package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestFileLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	l, err := CreateLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CreateLock(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	probe := open(t, path)
	if free, err := probe.TryShared(); err != nil || free {
		t.Errorf("a held lock: free %v, %v", free, err)
	}
	woken := make(chan error, 1)
	waiter := open(t, path)
	go func() { woken <- waiter.WaitShared() }()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-woken; err != nil {
		t.Errorf("wait: %v", err)
	}
	// Two that share do not see each other.
	if free, err := probe.TryShared(); err != nil || !free {
		t.Errorf("a lock that is shared: free %v, %v", free, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if held, err := TryLockFile(f); err != nil || held {
		t.Errorf("exclusive beside shared: held %v, %v", held, err)
	}
	// Who asks all the time keeps nobody from taking it.
	stop, asked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(asked)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if l, err := OpenLock(path); err == nil {
				l.TryShared()
				l.Close()
			}
		}
	}()
	probe.Close()
	waiter.Close()
	held, err := TryLockFile(f)
	close(stop)
	<-asked
	if err != nil || !held {
		t.Errorf("exclusive beside those who ask: held %v, %v", held, err)
	}
}

func open(t *testing.T, path string) *FileLock {
	t.Helper()
	l, err := OpenLock(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// A file that is removed while it is held is nobody's any more.
func TestFileLockRemoved(t *testing.T) {
	skipUnderWine(t, "the name of a removed file is not free while somebody has it open")
	path := filepath.Join(t.TempDir(), "a.lock")
	l, err := CreateLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !l.AtPath(path) {
		t.Error("not at its path")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if l.AtPath(path) {
		t.Error("at its path after it was removed")
	}
	again, err := CreateLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if l.AtPath(path) {
		t.Error("a successor's file taken for its own")
	}
}

func TestOpenLockRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenLock(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := OpenLock(dir); err == nil {
		t.Error("a directory was taken for a lock")
	}
	skipUnderWine(t, "symbolic links lead nowhere")
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if _, err := OpenLock(link); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("through a link: %v", err)
	}
}

func TestReadShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]string{3: "tex", 4: "text", 5: "text"} {
		if b, err := ReadShared(path, most); err != nil || string(b) != want {
			t.Errorf("up to %d bytes: %q, %v", most, b, err)
		}
	}
	if _, err := ReadShared(filepath.Dir(path), 4); err == nil {
		t.Error("a directory was read")
	}
}
