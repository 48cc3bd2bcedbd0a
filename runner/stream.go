package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/belfry-dev/belfry/sys"
)

// stream writes the events of a run, each line with one write. A nil stream
// drops them.
type stream struct {
	warn    func(string)
	version int // of the schema

	mu     sync.Mutex
	f      *os.File // nil once a write failed
	ending bool     // the ending event is written
	short  bool     // it was told that an event leaves something out
}

var errStreamTaken = errors.New("another run writes to it")

// openStream makes the file or takes it over, empty. A regular file is locked
// as long as it is open, so that two runs never mix their lines.
func openStream(path string, version int, warn func(string)) (*stream, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open event file: %w", err)
	}
	if err := takeOver(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("open event file %s: %w", path, err)
	}
	return &stream{warn: warn, version: version, f: f}, nil
}

// lasting is the path under which others find the file that we know as path: our
// descriptors have names of their own, which mean something else to each process.
// "" where there is none.
func lasting(path string) string {
	if !strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/proc/") {
		return path
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || strings.HasPrefix(real, "/proc/") {
		return ""
	}
	return real
}

// takeOver locks and empties a regular file; another kind is left as it is.
func takeOver(f *os.File) error {
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return err
	}
	free, err := sys.TryLockFile(f)
	if err == nil && !free {
		err = errStreamTaken
	}
	if err != nil {
		return err
	}
	return f.Truncate(0)
}

// write appends an event.
func (s *stream) write(e Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeLocked(e)
}

// end appends the ending event; nothing that aside writes comes after it.
func (s *stream) end(e Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	s.writeLocked(e)
}

// aside appends an event unless the ending event is written.
func (s *stream) aside(e Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		s.writeLocked(e)
	}
}

// writeLocked gives the file up at the first failure: a stream with a hole is
// worse than one that stops.
func (s *stream) writeLocked(e Event) {
	if s.f == nil {
		return
	}
	line, left, err := encodeShort(s.version, e)
	if err == nil {
		_, err = s.f.Write(line)
	}
	if left != "" && !s.short {
		s.short = true
		s.warn(fmt.Sprintf("the event %s leaves out %s: a line has at most %d bytes", e.Name(), left, MaxLine))
	}
	if err != nil {
		s.f.Close()
		s.f = nil
		s.warn(fmt.Sprintf("the event stream ends here: %v", err))
	}
}

func (s *stream) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f != nil {
		s.f.Close()
		s.f = nil
	}
}
