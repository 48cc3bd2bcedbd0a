package detach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/desk"
	"github.com/belfry-dev/belfry/sys"
)

// Shelf is the desk of the jobs below a state directory that have ended, or wait
// for a place, and that no server has. Whoever looks at one does not adopt it.
// Nothing is read of a directory that is not the user's alone.
type Shelf struct {
	State string
	// Live leaves out of Jobs those that have ended, whose transcripts must be read.
	Live bool
}

// About tells what the jobs are: runs that are over.
func (s Shelf) About() control.About { return control.About{Role: "run"} }

// Jobs lists them, in no order; what cannot be read is not among them.
func (s Shelf) Jobs() []control.Job {
	out, _ := s.waiting("")
	if s.Live {
		return out
	}
	for _, dir := range s.folders(false) {
		if j, leave := readOne(dir, nil); j != nil {
			out = append(out, desk.Of(j))
			leave()
		}
	}
	return out
}

// Logs tells what one has said.
func (s Shelf) Logs(ctx context.Context, q control.LogsQuery, say func(control.Said) error) (control.Job, error) {
	if waits, _ := s.waiting(q.ID); waits != nil {
		return waits[0], nil
	}
	j, leave := s.find(q.ID)
	if j == nil {
		return control.Job{}, control.ErrNoJob
	}
	defer leave()
	err := desk.Logs(ctx, j, q, say)
	return desk.Of(j), err
}

// Stop takes one away that waits, and leaves one alone that has ended.
func (s Shelf) Stop(_ context.Context, o control.StopOrder, accepted func() error) (control.Job, error) {
	if waits, dir := s.waiting(o.ID); waits != nil {
		removed, err := ended{dir: dir}.remove(isWaiting)
		if err == nil && !removed {
			err = errTakenUp
		}
		if err != nil {
			return control.Job{}, err
		}
		return desk.Cancelled(waits[0]), accepted()
	}
	j, leave := s.find(o.ID)
	if j == nil {
		return control.Job{}, control.ErrNoJob
	}
	defer leave()
	return desk.Of(j), accepted()
}

func (s Shelf) find(id string) (*job.Job, func()) {
	for _, dir := range s.folders(false) {
		if filepath.Base(dir) == id {
			return readOne(dir, nil)
		}
	}
	return nil, nil
}

// Unread tells why a job whose id begins so cannot be shown, whoever has it, though
// its supervisor has ended; nil where it can, or there is none.
func (s Shelf) Unread(id string) (why error) {
	root := filepath.Join(s.State, "detached")
	places, _ := os.ReadDir(root) // else nobody detaches jobs there
	for _, d := range places {
		place := filepath.Join(root, d.Name())
		if private(place) != nil {
			continue
		}
		jobs, _ := os.ReadDir(place) // it may be gone
		for _, j := range jobs {
			dir := filepath.Join(place, j.Name())
			if !strings.HasPrefix(j.Name(), id) || !hasJournal(dir) || isLocked(filepath.Join(dir, lockName)) {
				continue
			}
			var damage error
			if j, leave := readOne(dir, func(err error) { damage = err }); j != nil {
				leave()
				continue
			}
			if damage == nil {
				n, _ := newest(dir) // it was there
				damage = fmt.Errorf("read %s: %w: it has no record of the job", journalPath(dir, n), errFrame)
			}
			why = damage
		}
	}
	return why
}

// errTakenUp: the job is a server's by now, which is found by whoever looks again.
var errTakenUp = errors.New("a server has just taken it over; ask again")

// waiting lists the jobs that wait: all with the id "", else that one, and the
// folder of the last.
func (s Shelf) waiting(id string) (out []control.Job, dir string) {
	for _, at := range s.folders(true) {
		if o, err := readOrder(at); err == nil && (id == "" || o.ID == id) {
			out, dir = append(out, desk.Waiting(o)), at
		}
	}
	return out, dir
}

// folders are those of the jobs that have ended, or that wait.
func (s Shelf) folders(waiting bool) (dirs []string) {
	all, err := endedBelow(filepath.Join(s.State, "detached"), time.Now())
	if err != nil {
		return nil // nobody detaches jobs there
	}
	safe := map[string]bool{}
	for _, e := range all {
		place := filepath.Dir(e.dir)
		if _, known := safe[place]; !known {
			safe[place] = private(place) == nil
		}
		if safe[place] && !e.at.IsZero() && isWaiting(e.dir) == waiting {
			dirs = append(dirs, e.dir)
		}
	}
	return dirs
}

// readOne reads the job of a folder into a store of its own, one at a time: it is
// as much as a few MiB. It is nil where there is nothing that can be read, and
// unread, unless nil, is told why.
func readOne(dir string, unread func(error)) (j *job.Job, leave func()) {
	kept := maxAge
	s, err := job.NewStore(job.Config{Launcher: nowhere{}, Detacher: onlooker{dir, unread}, Dir: dir, Retention: &kept})
	if err != nil {
		return nil, nil
	}
	leave = func() { s.Close(context.Background()) }
	j, ok := s.Get(filepath.Base(dir))
	if !ok {
		leave()
		return nil, nil
	}
	// That the supervisor was killed is found out after what it has written.
	bound := time.NewTimer(lockBound)
	defer bound.Stop()
	select {
	case <-j.Done():
	case <-bound.C:
	}
	return j, leave
}

var errEnded = errors.New("the job has ended, and nobody has it")

// nowhere starts nothing.
type nowhere struct{}

func (nowhere) Start(context.Context, sys.Spec) (sys.Tree, error) { return nil, errEnded }

// onlooker shows the job of one folder to a store, which does not own it.
type onlooker struct {
	dir    string
	unread func(error)
}

func (o onlooker) Detach(context.Context, job.Order) (job.Owned, error) { return nil, errEnded }

func (o onlooker) Keep(*job.Order) error { return errEnded }

func (o onlooker) Forget(string) {}

func (o onlooker) Waiting(string) []*job.Order { return nil }

func (o onlooker) Adopt(id string) []job.Owned {
	if id != filepath.Base(o.dir) {
		return nil
	}
	return []job.Owned{seen{&owned{id: id, dir: o.dir, unread: o.unread}}}
}

// seen is a job that is looked at and not touched.
type seen struct{ *owned }

// Reclaim and Remove are for the server that has a job.
func (seen) Reclaim(job.Snapshot, func(io.Writer) error) {}

// Remove does nothing.
func (seen) Remove() {}
