package detach

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

const (
	// growth is how much is written to a file before the next one is begun, in
	// bytes. A file begins with what is kept of the output, at most about 4 MiB.
	growth = 8 << 20
	// again is how long after a failed write the next file is tried.
	again = time.Second
)

// journal is the writing side, a job.Recorder. What cannot be written (a disk
// that is full) is made up for by the next file, which begins with all that is
// kept; the job never waits for more than a write.
type journal struct {
	dir     string
	growth  int64
	changed func() // tells the readers
	save    saver

	mu     sync.Mutex
	f      *os.File // nil before the first file
	number int
	grown  int64 // since the file's beginning
	record []byte
	frame  []byte
	broken bool // the file may lack or end within a frame
	next   time.Time
}

// saver writes the output that is kept, of each stream no more than the newest
// so many lines.
type saver func(to io.Writer, lines uint64) error

// newJournal makes the first file, and has room set aside for the last.
func newJournal(dir string, save saver, changed func()) (*journal, error) {
	w := &journal{dir: dir, growth: growth, save: save, changed: changed}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := setAside(dir); err != nil {
		return w, err
	}
	return w, w.openNextLocked(false)
}

func journalPath(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf(journalPrefix+"%06d", number))
}

// Output notes bytes before they are numbered, so a file that begins here has
// all that came before in it.
func (w *journal) Output(k job.Kind, at time.Time, b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grown >= w.growth || w.broken && !at.Before(w.next) {
		w.rollLocked()
	}
	w.putLocked(frame{kind: outputFrame(k), at: at, body: b})
}

// Finish notes the end of a stream's text.
func (w *journal) Finish(k job.Kind, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.putLocked(frame{kind: finishFrame(k), at: at})
}

// Record notes the job's record.
func (w *journal) Record(s job.Snapshot) {
	text, err := json.Marshal(s)
	if err != nil {
		return // never: it holds nothing that JSON cannot say
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if bytes.Equal(text, w.record) {
		return
	}
	w.record = text
	w.putLocked(frame{kind: frameRecord, at: time.Now(), body: text})
}

// end makes the last file, which has the outcome and what is kept and nothing
// else, and says that nothing follows. Nothing is told any more.
func (w *journal) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.number
	err := w.openNextLocked(true)
	if err != nil {
		// What was written so far may be all there, and only the end missing.
		w.putLocked(frame{kind: frameEnd, at: time.Now()})
		if !w.broken {
			return errors.Join(w.f.Close(), dropAside(w.dir))
		}
		if reserved := w.endAsideLocked(); reserved != nil {
			return errors.Join(err, reserved)
		}
	}
	for n := old; n >= 1; n-- {
		if err := os.Remove(journalPath(w.dir, n)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return errors.Join(w.f.Close(), dropAside(w.dir))
}

// rollLocked goes on in the next file.
func (w *journal) rollLocked() {
	if err := w.openNextLocked(false); err != nil {
		w.broken, w.next = true, time.Now().Add(again)
		return
	}
	// Best effort: the next roll removes it.
	os.Remove(journalPath(w.dir, w.number-2))
}

// openNextLocked makes the next file, whole from the moment it has its name,
// and has the one before lead to it.
func (w *journal) openNextLocked(last bool) error {
	now := time.Now()
	b, err := w.beginningLocked(math.MaxUint64)
	if err != nil {
		return err
	}
	if last {
		b = appendFrame(b, frame{kind: frameEnd, at: now})
	}
	path := journalPath(w.dir, w.number+1)
	f, err := createWhole(path, b)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if w.f != nil {
		w.putLocked(frame{kind: frameNext, at: now})
		w.f.Close() // Best effort: readers find the next file without its last frame too.
	}
	w.f, w.number, w.grown, w.broken = f, w.number+1, 0, false
	w.changed()
	return nil
}

// beginningLocked is what a file begins with.
func (w *journal) beginningLocked(lines uint64) ([]byte, error) {
	now := time.Now()
	var saved bytes.Buffer
	if err := w.save(&saved, lines); err != nil {
		return nil, fmt.Errorf("write journal: %w", err)
	}
	b := appendFrame(nil, frame{kind: frameFormat, at: now, body: []byte(format)})
	b = appendFrame(b, frame{kind: frameSaved, at: now, body: saved.Bytes()})
	if w.record != nil {
		b = appendFrame(b, frame{kind: frameRecord, at: now, body: w.record})
	}
	return b, nil
}

// putLocked appends one frame in one write.
func (w *journal) putLocked(f frame) {
	if w.broken || w.f == nil {
		return
	}
	w.frame = appendFrame(w.frame[:0], f)
	n, err := w.f.Write(w.frame)
	w.grown += int64(n)
	if err != nil {
		w.broken, w.next = true, time.Now().Add(again)
	}
	w.changed()
}

// createWhole makes a file that has its name only when it has its content, and
// opens it to be continued.
func createWhole(path string, data []byte) (*os.File, error) {
	if err := sys.WriteWhole(path, data); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
}
