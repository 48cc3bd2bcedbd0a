package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWatchFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := WatchFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := f.WriteString("line\n"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.Changed():
		case <-time.After(30 * time.Second):
			t.Fatal("not told of a write")
		}
	}
	w.Close()
	if _, err := WatchFile(path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	clock := watchByClock()
	<-clock.Changed()
	clock.Close()
}
