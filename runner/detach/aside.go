package detach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// asideName is a file that is written once when the job starts, so that there is
// room for its end however full the disk is by then.
const asideName = "aside"

// asideSize is the room, in bytes: the record and a screenful of long lines, or
// some thousand short ones.
const asideSize = 256 << 10

// setAside makes room in a folder.
func setAside(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, asideName), make([]byte, asideSize), 0o600); err != nil {
		return fmt.Errorf("make room for the end of the job: %w", err)
	}
	return nil
}

// dropAside gives back the room that was not needed.
func dropAside(dir string) error {
	err := os.Remove(filepath.Join(dir, asideName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// endAsideLocked makes the room that was set aside the last file, with as much of
// the newest output as fits.
func (w *journal) endAsideLocked() error {
	var b []byte
	for lines := uint64(1 << 16); ; lines /= 2 {
		var err error
		if b, err = w.beginningLocked(lines); err != nil {
			return err
		}
		b = appendFrame(b, frame{kind: frameEnd, at: time.Now()})
		if len(b) <= asideSize {
			break
		}
		if lines == 0 {
			return fmt.Errorf("write journal: %d bytes are more than was set aside", len(b))
		}
	}
	// It is written over, never cut first: that would give the room to others.
	path := filepath.Join(w.dir, asideName)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Truncate(int64(len(b)))
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(path, journalPath(w.dir, w.number+1))
	}
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	w.number++
	w.changed()
	return nil
}
