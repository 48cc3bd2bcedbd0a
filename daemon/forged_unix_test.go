//go:build unix

package daemon

import (
	"path/filepath"
	"strings"
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
	if h := readHold(path, time.Now()); h == nil || h.Since.IsZero() || !strings.Contains(h.Reason, path+" is a named pipe") {
		t.Errorf("a hold: %+v", h)
	}
	if f, err := openLog(path, maxLog); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("a log: %v, %v", f, err)
	}
	if c := readCooldown(path, time.Now()); c != nil {
		t.Errorf("a pause: %+v", c)
	}
	if lines := tail(path, 0); lines != nil {
		t.Errorf("a log: %q", lines)
	}
}
