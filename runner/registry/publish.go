package registry

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

const (
	recordSuffix = ".json"
	lockSuffix   = ".lock"

	// reserveTries bounds how often another name is tried.
	reserveTries = 128
)

// Published is the record of a live run and the lock that says so.
type Published struct {
	reg    *Registry
	record Record
	stem   string // the files' name without a suffix
	lock   *sys.FileLock
}

// Outcome is how a run ended, as its runner_exit event tells it.
type Outcome struct {
	Code      int
	Source    string
	ChildCode *int // nil where the child's own code is not the outcome
}

// Publish makes a run visible, in the directory that Prepare made: first its
// lock, which this process holds until Remove or its death, then its record,
// complete from the moment it has its name. An error leaves nothing behind.
func (r *Registry) Publish(rec Record) (*Published, error) {
	p := &Published{reg: r, record: rec}
	var err error
	for range reserveTries {
		p.stem = newStem(r.prefix)
		p.lock, err = sys.CreateLock(r.path(p.stem + lockSuffix))
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, sys.ErrLockReplaced) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("publish run: %w", err)
	}
	data, err := rec.encode(p.stem + lockSuffix)
	if err == nil {
		// Not synced: no run outlives a loss of power.
		err = sys.WriteWhole(r.path(p.stem+recordSuffix), data)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("publish run: %w", err), p.unlock())
	}
	return p, nil
}

// Path is the file of the record.
func (p *Published) Path() string { return p.reg.path(p.stem + recordSuffix) }

// Remove takes the run off the list and leaves its tombstone. It is called
// once, after the last line of the event stream was written. All is tried
// whatever fails.
func (p *Published) Remove(out Outcome) error {
	return errors.Join(p.reg.bury(p.stem, p.record, out), p.Withdraw())
}

// Withdraw is Remove without a tombstone: for a server, of whose end nothing is
// told.
func (p *Published) Withdraw() error {
	// The record goes first: a free lock beside a record means an abrupt death.
	err := sys.RemoveNow(p.Path())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, p.unlock())
}

// unlock removes the lock file while it is held, so that nobody finds it free.
func (p *Published) unlock() error {
	err := sys.RemoveNow(p.reg.path(p.stem + lockSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, p.lock.Close())
}

func (r *Registry) path(name string) string { return filepath.Join(r.dir, name) }

// newStem is a name that no other record has: the moment and chance.
func newStem(prefix string) string {
	var random [8]byte
	rand.Read(random[:])
	return fmt.Sprintf("%s-%032x-%s", prefix, time.Now().UnixNano(), hex.EncodeToString(random[:]))
}
