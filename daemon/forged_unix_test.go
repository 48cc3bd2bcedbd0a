//go:build unix

package daemon

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Whatever lies where a file of a daemon should, nobody waits for it; and a hold
// that cannot be read is told, not passed over.
func TestForgedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := loadRecord(path); err == nil {
		t.Errorf("a record: %+v", r)
	}
	if h, err := readHold(path, time.Now()); err == nil {
		t.Errorf("a hold: %+v", h)
	}
	if c := readCooldown(path, time.Now()); c != nil {
		t.Errorf("a pause: %+v", c)
	}
	if lines := tail(path, 0); lines != nil {
		t.Errorf("a log: %q", lines)
	}
}
