package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// orphanAge is how old a lock without a record is before it counts as left
// behind: a run that is just starting has its lock before its record.
const orphanAge = 5 * time.Second

// PruneOptions say what to remove.
type PruneOptions struct {
	DryRun bool              // look, and remove nothing
	Labels map[string]string // only runs with these; locks without a record are then left alone
	Before time.Time         // only runs that started before; zero: all
}

// Pruned is what was removed, or would be, and what was left.
type Pruned struct {
	Pruned        int
	Live          int
	Unprobed      int // records that cannot be read are counted here
	OrphanedLocks int
	Entries       []Entry  // of a dry run
	Locks         []string // of a dry run: file names
}

// Nothing reports whether nothing was found that counts.
func (p Pruned) Nothing() bool { return p.Pruned+p.Live+p.Unprobed+p.OrphanedLocks == 0 }

// Prune removes what dead runners left: sockets, record and lock of each stale
// run, locks without a record that are older than 5 s, and tombstones whose time
// is over. A lock that is free once is free for ever, so nothing is locked and a
// reader beside sees no dead run as live.
func (r *Registry) Prune(o PruneOptions) (Pruned, error) {
	// The locks are read first: a run that is published later has a lock that is
	// not in this list.
	names, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Pruned{}, nil
	}
	if err != nil {
		return Pruned{}, fmt.Errorf("read registry: %w", err)
	}
	l, err := r.List()
	if err != nil {
		return Pruned{}, err
	}
	var out Pruned
	var failed error
	claimed := map[string]bool{} // lock files that a record names
	for _, e := range l.Entries {
		claimed[e.lock] = true
		switch {
		case !e.Has(o.Labels), !o.Before.IsZero() && !e.StartedAt.Before(o.Before):
		case e.Health == Live:
			out.Live++
		case e.Health == Unprobed:
			out.Unprobed++
		case o.DryRun:
			out.Pruned++
			out.Entries = append(out.Entries, e)
		default:
			removed, err := e.remove()
			failed = errors.Join(failed, err)
			if removed {
				out.Pruned++
			}
		}
	}
	if len(o.Labels) == 0 {
		out.Unprobed += l.Unreadable
		for _, d := range names {
			if strings.HasSuffix(d.Name(), sys.GoneSuffix) && !o.DryRun {
				// Best effort: whoever removed it was killed before the end.
				os.Remove(r.path(d.Name()))
			}
			orphan, err := r.orphan(d, claimed, o.DryRun)
			failed = errors.Join(failed, err)
			if orphan {
				out.OrphanedLocks++
				if o.DryRun {
					out.Locks = append(out.Locks, d.Name())
				}
			}
		}
		if !o.DryRun {
			r.clearEnded(time.Now())
		}
	}
	if failed != nil {
		failed = fmt.Errorf("prune: %w", failed)
	}
	return out, failed
}

// remove takes away what a dead runner left, the record last but for the lock,
// so that what was begun is found again. removed: this call did it, and not
// another one beside.
func (e Entry) remove() (removed bool, err error) {
	if sys.IsTempEndpoint(e.Endpoint) {
		if err := sys.RemoveTempEndpoint(e.Endpoint); err != nil {
			return false, err
		}
	}
	err = sys.RemoveNow(e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := sys.RemoveNow(e.lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	return true, nil
}

// orphan reports, and unless it is a dry run removes, a lock that belongs to no
// record and to no process, with the record that was never finished beside it.
func (r *Registry) orphan(d fs.DirEntry, claimed map[string]bool, dry bool) (bool, error) {
	stem, ok := strings.CutSuffix(d.Name(), lockSuffix)
	path := r.path(d.Name())
	if !ok || d.IsDir() || claimed[path] {
		return false, nil
	}
	if _, err := os.Lstat(r.path(stem + recordSuffix)); !errors.Is(err, fs.ErrNotExist) {
		return false, nil // a record that cannot be read, or is not ours to judge
	}
	fi, err := d.Info()
	if err != nil || time.Since(fi.ModTime()) < orphanAge {
		return false, nil
	}
	l, err := sys.OpenLock(path)
	if err != nil {
		return false, nil // gone, or nobody can tell
	}
	defer l.Close()
	if free, err := l.TryShared(); err != nil || !free || dry {
		return err == nil && free, nil
	}
	// Best effort: there seldom is one, and it is found again with its lock.
	os.Remove(r.path(stem + recordSuffix + sys.TempSuffix))
	err = sys.RemoveNow(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
