package sys

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestRemoveNow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenShared(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := RemoveNow(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the name is not free: %v", err)
	}
	if err := RemoveNow(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("again: %v", err)
	}
	if b, err := io.ReadAll(f); err != nil || string(b) != "text" {
		t.Errorf("who had it open reads %q, %v", b, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Errorf("the name cannot be used: %v", err)
	}
}
