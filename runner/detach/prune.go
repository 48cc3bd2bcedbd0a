package detach

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// The bounds of what is kept of ended jobs that no server has. A server that
// has one keeps it as it keeps its others.
const (
	// maxAge is how long after its end a transcript is kept.
	maxAge = 7 * 24 * time.Hour
	// maxBytes is how much is kept of a user's in all; the oldest go first.
	maxBytes = 512 << 20
	// startAge is how old a folder without a journal is before it counts as left
	// behind: its supervisor is just starting.
	startAge = 2 * startLimit
)

// Pruned tells what was removed.
type Pruned struct {
	Jobs  int
	Bytes int64
}

// ended is a folder of a job that is over and that nobody has.
type ended struct {
	dir  string
	at   time.Time
	size int64
}

// Prune removes the transcripts below a state directory that are older than
// maxAge or over maxBytes, and what a start that failed has left.
func Prune(state string) (Pruned, error) {
	return prune(state, time.Now(), maxAge, maxBytes)
}

func prune(state string, now time.Time, age time.Duration, most int64) (done Pruned, failed error) {
	all, err := endedBelow(filepath.Join(state, "detached"), now)
	if err != nil {
		return Pruned{}, err
	}
	sort.Slice(all, func(i, j int) bool { return all[j].at.Before(all[i].at) }) // slices.SortFunc: 20 KB of code for each struct
	var kept int64
	for _, e := range all {
		if kept += e.size; kept <= most && now.Sub(e.at) <= age {
			continue
		}
		removed, err := e.remove(nil)
		failed = errors.Join(failed, err)
		if !removed {
			continue
		}
		done.Jobs++
		done.Bytes += e.size
	}
	return done, failed
}

// remove removes a folder unless somebody has adopted the job meanwhile, or it is
// not any more what still, unless nil, asks for.
func (e ended) remove(still func(dir string) bool) (bool, error) {
	p := &Place{dir: filepath.Dir(e.dir)}
	ctx, cancel := context.WithTimeout(context.Background(), lockBound)
	defer cancel()
	unlock, err := sys.Lock(ctx, filepath.Join(p.dir, placeLock))
	if err != nil {
		return false, err
	}
	defer unlock()
	if !p.isFree(e.dir) || still != nil && !still(e.dir) {
		return false, nil
	}
	err = os.RemoveAll(e.dir)
	return err == nil, err
}

// endedBelow lists the jobs of all places that nobody has and that have ended or
// wait. A folder that is of neither has no end: its time is zero.
func endedBelow(root string, now time.Time) (all []ended, err error) {
	places, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, d := range places {
		p := &Place{dir: filepath.Join(root, d.Name())}
		jobs, err := os.ReadDir(p.dir)
		if err != nil {
			continue // no place, or gone
		}
		for _, j := range jobs {
			dir := filepath.Join(p.dir, j.Name())
			if !j.IsDir() || j.Name() == ownersDir || !p.isFree(dir) || isLocked(filepath.Join(dir, lockName)) {
				continue
			}
			if e, ok := look(dir, now); ok {
				all = append(all, e)
			}
		}
	}
	return all, nil
}

// look measures a folder; false for one that may be just starting. Its end is when
// the journal was written last, or the order of one that waits: every server that
// has the job for a while touches the others.
func look(dir string, now time.Time) (ended, bool) {
	e := ended{dir: dir}
	names, err := os.ReadDir(dir)
	if err != nil {
		return e, false
	}
	var touched time.Time
	for _, d := range names {
		fi, err := d.Info()
		if err != nil {
			continue
		}
		e.size += fi.Size()
		at := fi.ModTime()
		if at.After(touched) {
			touched = at
		}
		if (strings.HasPrefix(d.Name(), journalPrefix) || d.Name() == orderName) && at.After(e.at) {
			e.at = at
		}
	}
	if !hasJournal(dir) && !isWaiting(dir) {
		return ended{dir: dir, size: e.size}, now.Sub(touched) > startAge
	}
	return e, true
}
