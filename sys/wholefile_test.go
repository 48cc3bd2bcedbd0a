package sys_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	has := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%q, %v, want %q", b, err, want)
		}
	}
	for _, text := range []string{"a longer text", "short"} {
		if err := sys.WriteWhole(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		has(text)
	}
	// What has the temporary name cannot be written.
	if err := os.MkdirAll(filepath.Join(path+sys.TempSuffix, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if sys.WriteWhole(path, []byte("lost")) == nil {
		t.Error("no error")
	}
	has("short")
}

// Of many that write at once each reader sees what one of them wrote, and what
// they wrote it to is gone with them.
func TestReplaceWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	texts := []string{strings.Repeat("a", 100), strings.Repeat("b", 70_000), strings.Repeat("c", 9)}
	if err := sys.ReplaceWhole(path, []byte(texts[0])); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for _, text := range texts {
		writers.Go(func() {
			for range 100 {
				if err := sys.ReplaceWhole(path, []byte(text)); err != nil && runtime.GOOS != "windows" { // there a reader that shares no removal is in the way
					t.Error(err)
				}
			}
		})
	}
	for range 300 {
		if b, err := os.ReadFile(path); err == nil && !slices.Contains(texts, string(b)) {
			t.Errorf("%d bytes that nobody wrote", len(b))
		}
	}
	writers.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
	if err := sys.ReplaceWhole(filepath.Join(dir, "nowhere", "file"), nil); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("the error is %v", err)
	}
}

// Who reads a file goes on with what it was, and is in nobody's way.
func TestReplaceWholeUnderAReader(t *testing.T) {
	systest.SkipUnderWine(t, "replacing a file that is open")
	path := filepath.Join(t.TempDir(), "file")
	for _, write := range []func(string, []byte) error{sys.WriteWhole, sys.ReplaceWhole} {
		if err := write(path, []byte("old")); err != nil {
			t.Fatal(err)
		}
		reader, err := sys.OpenShared(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(path, []byte("new")); err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(reader); err != nil || string(b) != "old" {
			t.Errorf("the reader has %q, %v", b, err)
		}
		reader.Close()
		if b, err := os.ReadFile(path); err != nil || string(b) != "new" {
			t.Errorf("the file is %q, %v", b, err)
		}
	}
}
