package sys_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-dev/belfry/sys"
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
