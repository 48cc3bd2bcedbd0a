package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/belfry-dev/belfry/sys"
)

// The names of the transcripts in their folder.
const (
	stdoutLog = "stdout.log"
	stderrLog = "stderr.log"
)

// capture is the two transcripts of a run.
type capture struct{ stdout, stderr *transcript }

// openCapture opens both files before it empties either. When that fails it
// removes what it made and leaves what was there.
func openCapture(dir string, max int64, warn func(string, ...any)) (_ *capture, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open capture folder: %w", err)
	}
	var undo []func()
	defer func() {
		if err != nil {
			for i := range undo {
				undo[len(undo)-1-i]()
			}
		}
	}()
	_, serr := os.Stat(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make capture folder: %w", err)
	}
	if errors.Is(serr, fs.ErrNotExist) {
		undo = append(undo, func() { os.Remove(dir) })
	}
	c := &capture{}
	for _, at := range []struct {
		name string
		to   **transcript
	}{{stdoutLog, &c.stdout}, {stderrLog, &c.stderr}} {
		path := filepath.Join(dir, at.name)
		f, made, err := openNew(path)
		if err != nil {
			return nil, fmt.Errorf("open transcript: %w", err)
		}
		undo = append(undo, func() {
			f.Close()
			if made {
				os.Remove(path)
			}
		})
		free, err := sys.TryLockFile(f)
		if err == nil && !free {
			err = errStreamTaken
		}
		if err != nil {
			return nil, fmt.Errorf("open transcript %s: %w", path, err)
		}
		*at.to = &transcript{path: path, f: f, max: max, warn: warn, sum: sha256.New()}
	}
	for _, t := range []*transcript{c.stdout, c.stderr} {
		if err := t.f.Truncate(0); err != nil {
			return nil, fmt.Errorf("empty transcript: %w", err)
		}
	}
	return c, nil
}

// openNew opens a file for writing and tells whether it was made for that.
func openNew(path string) (f *os.File, made bool, err error) {
	f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f, true, nil
	}
	if errors.Is(err, fs.ErrExist) {
		if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
			return nil, false, fmt.Errorf("%s is not a regular file", path)
		}
		f, err = os.OpenFile(path, os.O_WRONLY, 0)
	}
	return f, false, err
}

// result closes the files and describes them.
func (c *capture) result() OutputCaptured {
	return OutputCaptured{Stdout: c.stdout.close(), Stderr: c.stderr.close()}
}

// warnCut tells of transcripts that were cut, which nothing else does where nobody
// has named a ceiling and there is no stream of events.
func (r *run) warnCut(c OutputCaptured) {
	var cut []string
	for _, at := range []struct {
		name string
		Captured
	}{{stdoutLog, c.Stdout}, {stderrLog, c.Stderr}} {
		if at.Truncated && !at.WriteError {
			cut = append(cut, fmt.Sprintf("%s of %d", at.name, at.Bytes))
		}
	}
	if cut != nil {
		r.warn("only the first %d bytes were kept for %s; --capture-max-bytes keeps more", r.o.CaptureMax, strings.Join(cut, " and "))
	}
}

// transcript is one stream's first bytes in a file.
type transcript struct {
	path string
	max  int64
	warn func(format string, args ...any) // told once that the file could not be written

	mu     sync.Mutex
	f      *os.File
	sum    hash.Hash // over what the file holds
	seen   int64     // bytes that the child wrote
	held   int64     // bytes that the file holds
	failed bool
}

// write takes the next bytes; true says that with them the stream is over its
// ceiling for the first time.
func (t *transcript) write(b []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.seen
	t.seen += int64(len(b))
	if room := t.max - t.held; !t.failed && room > 0 && t.f != nil {
		n, err := t.f.Write(b[:min(int64(len(b)), room)])
		t.sum.Write(b[:n])
		t.held += int64(n)
		t.failLocked(err)
	}
	return before <= t.max && t.seen > t.max
}

// failLocked gives the file up at the first error.
func (t *transcript) failLocked(err error) {
	if err != nil && !t.failed {
		t.failed = true
		t.warn("the transcript ends here: %v", err)
	}
}

func (t *transcript) close() Captured {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f != nil {
		t.failLocked(t.f.Close())
	}
	t.f = nil
	return Captured{
		Path: t.path, Bytes: t.seen, SHA256: hex.EncodeToString(t.sum.Sum(nil)),
		Truncated: t.seen > t.max, WriteError: t.failed,
	}
}
