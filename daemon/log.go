package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/belfry-dev/belfry/sys"
)

const (
	maxLog  = 8 << 20 // bytes, after which a log is put aside
	oldLogs = 3       // logs that are kept beside the current one
)

// openLog opens a log for appending, readable to this user alone. One that has
// grown to max is put aside first.
func openLog(path string, max int64) (*os.File, error) {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		// Whoever opens a pipe waits for its reader.
		return nil, fmt.Errorf("open log: %w", sys.Obstacle(path, fs.ErrInvalid))
	case fi.Size() >= max:
		// Best effort, as in Write: a log that somebody has open keeps no daemon
		// from starting.
		_ = rotate(path)
	}
	return appendTo(path)
}

func appendTo(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return f, nil
}

// rotate renames path to path.1, that to path.2 and so on; the oldest goes.
// Who reads or writes one under its old name goes on with the same file. The
// name path.0 is that of a moment: where path cannot be renamed, as on Windows
// while it is open, the others stay what they are, however often it is tried.
func rotate(path string) error {
	at := func(n int) string { return path + "." + strconv.Itoa(n) }
	if err := os.Rename(path, at(0)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put the log aside: %w", err)
	}
	for n := oldLogs - 1; n >= 0; n-- {
		if err := os.Rename(at(n), at(n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put the log aside: %w", err)
		}
	}
	return nil
}

// logFile is a log that is put aside when it is full. Each Write is whole lines
// and goes to one file.
type logFile struct {
	path string
	max  int64

	mu   sync.Mutex
	f    *os.File
	size int64
	// moved is called with a fresh file, for those that write to the old one by
	// its descriptor.
	moved func(*os.File)
}

func newLogFile(path string, max int64, moved func(*os.File)) (*logFile, error) {
	l := &logFile{path: path, max: max, moved: moved}
	f, err := openLog(path, max)
	if err != nil {
		return nil, err
	}
	return l, l.use(f)
}

func (l *logFile) use(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.f, l.size = f, fi.Size()
	return nil
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > l.max {
		// Best effort: on Windows no file is renamed while somebody has it open;
		// the log then grows until the next start.
		_ = l.turnLocked()
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	return n, err
}

// check puts the log aside when others have filled it by its descriptor.
func (l *logFile) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	fi, err := l.f.Stat()
	if err != nil {
		return err
	}
	if l.size = fi.Size(); l.size < l.max {
		return nil
	}
	return l.turnLocked()
}

func (l *logFile) turnLocked() error {
	if err := rotate(l.path); err != nil {
		return err
	}
	f, err := appendTo(l.path)
	if err != nil {
		return err
	}
	old := l.f
	l.f, l.size = f, 0
	if l.moved != nil {
		l.moved(f)
	}
	return old.Close()
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}
