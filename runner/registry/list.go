package registry

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strings"

	"github.com/belfry-dev/belfry/sys"
)

// Health is what the kernel says of a record's runner.
type Health string

const (
	// Live: the runner holds its lock.
	Live Health = "live"
	// Stale: the runner is dead and could not take its record away.
	Stale Health = "stale"
	// Unprobed: the lock could not be asked, so nobody knows.
	Unprobed Health = "unprobed"
)

// Entry is one record and how it stood when it was read.
type Entry struct {
	Record
	Health Health
	Path   string // of the record
	lock   string // path of the lock file
}

// Listing is what a registry holds at one moment.
type Listing struct {
	Entries []Entry // by run id, start and path
	// Unreadable counts records that could not be read (permission, I/O): runs
	// of which nothing is known. What can be read and is no record is not
	// counted.
	Unreadable int
	dir        string
}

// Unsure tells of the records that could not be read, as an ErrUnprobed; nil when
// there are none.
func (l Listing) Unsure() error {
	if l.Unreadable == 0 {
		return nil
	}
	return unread{l.Unreadable, l.dir}
}

// unread is so many records of a registry that cannot be read.
type unread struct {
	n   int
	dir string
}

func (u unread) Error() string {
	if u.n == 1 {
		return "a record in " + u.dir + " cannot be read"
	}
	return fmt.Sprintf("%d records in %s cannot be read", u.n, u.dir)
}

func (u unread) Is(target error) bool { return target == ErrUnprobed }

// List reads every record and asks for every lock. It changes nothing, and a
// directory that is not there is an empty registry. A run that ends meanwhile is
// left out, never shown as stale.
func (r *Registry) List() (Listing, error) {
	names, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Listing{}, nil
	}
	if err != nil {
		return Listing{}, fmt.Errorf("read registry: %w", err)
	}
	l := Listing{dir: r.dir}
	for _, d := range names {
		if d.IsDir() || !strings.HasSuffix(d.Name(), recordSuffix) {
			continue
		}
		e, err := r.read(d.Name())
		switch {
		case errors.Is(err, errNoRecord):
		case err != nil:
			l.Unreadable++
		default:
			l.Entries = append(l.Entries, e)
		}
	}
	// Not by slices.SortFunc, which is 20 KB of code for each struct.
	sort.Slice(l.Entries, func(i, j int) bool {
		a, b := &l.Entries[i], &l.Entries[j]
		return cmp.Or(strings.Compare(a.RunID, b.RunID), a.StartedAt.Compare(b.StartedAt), strings.Compare(a.Path, b.Path)) < 0
	})
	return l, nil
}

// errNoRecord: there is no record, or none any more, or not one of ours.
var errNoRecord = errors.New("no record")

func (r *Registry) read(name string) (Entry, error) {
	e := Entry{Path: r.path(name)}
	data, err := readBounded(e.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errTooLongFile):
		return Entry{}, errNoRecord
	case err != nil:
		return Entry{}, err
	}
	rec, lock, err := parseRecord(data)
	if err != nil {
		return Entry{}, errNoRecord
	}
	e.Record, e.lock = rec, r.path(lock)
	var there bool
	if e.Health, there = e.probe(); !there {
		return Entry{}, errNoRecord
	}
	return e, nil
}

// probe asks for the lock. there is false once the run has ended in order: the
// runner removes its record before it lets go of the lock, so a free lock means
// an abrupt death only while the record is still there.
func (e Entry) probe() (h Health, there bool) {
	l, err := sys.OpenLock(e.lock)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Stale, e.recorded()
	case err != nil:
		return Unprobed, e.recorded()
	}
	defer l.Close()
	free, err := l.TryShared()
	switch {
	case err != nil:
		return Unprobed, e.recorded()
	case free:
		return Stale, e.recorded()
	}
	return Live, true
}

// recorded reports whether the record is still there. No name is used twice.
func (e Entry) recorded() bool {
	_, err := os.Lstat(e.Path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Now asks again for the lock. gone: the run has ended and took its record away.
func (e Entry) Now() (h Health, gone bool) {
	h, there := e.probe()
	return h, !there
}

// Has reports whether the record has all these labels with these values.
func (e Entry) Has(labels map[string]string) bool {
	for k, v := range labels {
		if have, ok := e.Labels[k]; !ok || have != v {
			return false
		}
	}
	return true
}
