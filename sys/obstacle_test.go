package sys_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// Where a directory has the name of a file, whoever needs the file is told the
// name and what to do, and not of a rename.
func TestObstacle(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, locked := sys.Lock(context.Background(), path)
	_, tried := sys.TryLock(path)
	for what, err := range map[string]error{
		"written": sys.WriteWhole(path, nil), "locked": locked, "tried": tried, "removed": sys.Obstacle(path, os.Remove(path)),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
			continue
		}
		if text := err.Error(); !strings.Contains(text, path+" is a directory") || !strings.Contains(text, "move it away") || strings.Contains(text, sys.TempSuffix) {
			t.Errorf("%s: %s", what, text)
		}
	}
	// What the system said is still there to be asked for, and else the only word.
	missing := filepath.Join(dir, "missing")
	_, err := os.Stat(missing)
	if got := sys.Obstacle(missing, err); got != err || !errors.Is(got, fs.ErrNotExist) {
		t.Errorf("nothing in the way: %v", got)
	}
	if err := sys.Obstacle(path, nil); err != nil {
		t.Errorf("no error: %v", err)
	}
	cause := errors.New("cause")
	if err := sys.Obstacle(path, cause); !errors.Is(err, cause) {
		t.Errorf("the cause is lost: %v", err)
	}
}
