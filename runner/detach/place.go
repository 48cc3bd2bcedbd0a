package detach

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// The names in a place. What else is there is a job's folder.
const (
	placeLock = "place.lock" // who changes owners has it
	ownersDir = "owners"

	ownerName      = "owner"
	orderName      = "order.json"
	verdictName    = "verdict"
	lockName       = "supervisor.lock"
	supervisorName = "supervisor.json"
	logName        = "supervisor.log"
)

// lockBound is how long is waited for others who change owners.
const lockBound = 5 * time.Second

// Place keeps the detached jobs of one scope for one server: a job.Detacher.
// Nothing is touched before there is need.
type Place struct {
	// Warn, unless nil, is told why a job that an earlier server has left cannot be
	// had: each reason once. It is set before the first use.
	Warn func(format string, args ...any)

	state string
	dir   string
	err   error // why there can be none
	start Starter

	mu     sync.Mutex
	owner  string        // this server's name among the owners; "" before the first job
	lock   *sys.FileLock // held as long as this server lives
	mine   map[string]bool
	kept   map[string]bool // of mine: they wait, and have a folder
	tidied time.Time
	warned sync.Map // of texts
}

func (p *Place) warn(format string, args ...any) {
	if p.Warn == nil {
		return
	}
	if _, told := p.warned.LoadOrStore(fmt.Sprintf(format, args...), true); !told {
		p.Warn(format, args...)
	}
}

// Starter is how a supervisor is started: this program with arguments to which
// a job's folder is added, and a whole environment, none of which reaches a job.
type Starter struct {
	Path string
	Args []string
	Env  []string
	Dir  string // a working directory that stays
}

// ReadyVar is the environment variable that names, to a supervisor, the pipe on
// which it tells whoever has started it that it has the job.
const ReadyVar = "BELFRY_SUPERVISOR_READY"

// Open names the place of a scope below the state directory; nothing is made. An
// err, why there is no such directory, is told when a job is to be detached.
func Open(state string, err error, scope string, s Starter) *Place {
	return &Place{state: state, dir: filepath.Join(state, "detached", scope), err: err, start: s, mine: map[string]bool{}, kept: map[string]bool{}}
}

// Close gives up every job that it has, so that another server may adopt it.
func (p *Place) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owner == "" {
		return nil
	}
	err := errors.Join(sys.RemoveNow(p.ownerPath(p.owner)), p.lock.Close())
	p.owner = ""
	return err
}

func (p *Place) ownerPath(name string) string { return filepath.Join(p.dir, ownersDir, name) }

// enterLocked makes the place and puts this server among the owners.
func (p *Place) enterLocked() error {
	if p.err != nil {
		return p.err
	}
	if p.owner != "" {
		return nil
	}
	if err := private(p.dir); err != nil {
		return err
	}
	if _, err := sys.PrivateDir(filepath.Join(p.dir, ownersDir)); err != nil {
		return err
	}
	for {
		name := newOwner()
		lock, err := sys.CreateLock(p.ownerPath(name))
		switch {
		case err == nil:
			p.owner, p.lock = name, lock
			return nil
		case !errors.Is(err, sys.ErrLockReplaced): // another server cleared it away
			return err
		}
	}
}

// private makes the directory of a place, and makes sure that it stays what it
// is: it and the one above it are the user's alone, and nobody else changes what
// is in the state directory.
func private(place string) error {
	all := filepath.Dir(place)
	if err := os.MkdirAll(filepath.Dir(all), 0o700); err != nil {
		return fmt.Errorf("create state directory: %w", err)
	}
	if err := sys.CheckKept(filepath.Dir(all)); err != nil {
		return err
	}
	for _, dir := range []string{all, place} {
		if _, err := sys.PrivateDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Adopt takes the jobs that no living server has.
func (p *Place) Adopt(id string) []job.Owned {
	p.mu.Lock()
	defer p.mu.Unlock()
	var taken []job.Owned
	for _, id := range p.takeLocked(id, hasJournal) {
		dir := filepath.Join(p.dir, id)
		taken = append(taken, &owned{id: id, dir: dir, unread: func(err error) {
			p.warn("job %s of an earlier server cannot be shown: %v; belfry prune removes it when it is old, and its folder is %s", id, err, dir)
		}})
	}
	return taken
}

// hasJournal reports whether there is something to read of the job of a folder.
func hasJournal(dir string) bool {
	n, err := newest(dir)
	return err == nil && n > 0
}

// takeLocked makes those jobs this server's that have what is wanted and that no
// living server has: of all with the id "", else of that one.
func (p *Place) takeLocked(id string, has func(dir string) bool) (taken []string) {
	if p.err != nil {
		return nil
	}
	free := p.freeLocked(id, has)
	if len(free) == 0 {
		return nil
	}
	if err := p.enterLocked(); err != nil {
		p.warn("jobs of an earlier server cannot be taken over: %v", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockBound)
	defer cancel()
	unlock, err := sys.Lock(ctx, filepath.Join(p.dir, placeLock))
	if err != nil {
		p.warn("jobs of an earlier server cannot be taken over: %v", err)
		return nil // the next who asks tries again
	}
	defer unlock()
	p.clearOwners()
	for _, id := range free {
		dir := filepath.Join(p.dir, id)
		if !p.isFree(dir) || !has(dir) {
			continue
		}
		if err := setOwner(filepath.Join(dir, ownerName), p.owner); err != nil {
			p.warn("job %s of an earlier server cannot be taken over: %v", id, err)
			continue
		}
		p.mine[id] = true
		taken = append(taken, id)
	}
	return taken
}

// freeLocked lists the jobs that nobody has and that have what is wanted.
func (p *Place) freeLocked(id string, has func(dir string) bool) (free []string) {
	ids := []string{id}
	if id == "" {
		names, err := os.ReadDir(p.dir)
		if err != nil {
			return nil
		}
		ids = ids[:0]
		for _, d := range names {
			if d.IsDir() && d.Name() != ownersDir {
				ids = append(ids, d.Name())
			}
		}
	}
	for _, id := range ids {
		if dir := filepath.Join(p.dir, id); !p.mine[id] && has(dir) && p.isFree(dir) {
			free = append(free, id)
		}
	}
	return free
}

// isFree reports whether the server that had a job is gone.
func (p *Place) isFree(dir string) bool {
	path := filepath.Join(dir, ownerName)
	name, err := sys.ReadShared(path, maxSmall)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil:
		p.warn("it cannot be told whether a server has the job: %v", sys.Obstacle(path, err))
		return false
	case !isOwner(string(name)):
		return true // a machine that lost power has kept the file and not the name
	}
	return !isLocked(p.ownerPath(string(name)))
}

// ownerSuffix ends the name of an owner, which begins with text of newOwner's.
const ownerSuffix = ".lock"

func newOwner() string { return rand.Text() + ownerSuffix }

// isOwner reports whether newOwner makes such names.
func isOwner(name string) bool {
	text, ok := strings.CutSuffix(name, ownerSuffix)
	return ok && len(name) == len(newOwner()) && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// isLocked reports whether a living process holds a lock. Where that cannot be
// told it may.
func isLocked(path string) bool {
	l, err := released(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return l.Close() != nil
}

var errHeld = errors.New("a living process holds it")

// released has a lock that nobody holds, and keeps others from taking it.
func released(path string) (*sys.FileLock, error) {
	l, err := sys.OpenLock(path)
	if err != nil {
		return nil, err
	}
	free, err := l.TryShared()
	if err == nil && !free {
		err = errHeld
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// clearOwners removes what dead servers have left. A server that is just making
// its lock finds that it needs another.
func (p *Place) clearOwners() {
	names, _ := os.ReadDir(filepath.Join(p.dir, ownersDir)) // none can be read: none is removed
	for _, d := range names {
		path := p.ownerPath(d.Name())
		if l, err := released(path); err == nil {
			_ = sys.RemoveNow(path) // Best effort: it is found again.
			l.Close()
		}
	}
}

// maxSmall is more than any file beside a journal has but the order, in bytes.
const maxSmall = 64 << 10

// writeWhole writes a small file beside a journal; see sys.WriteWhole.
func writeWhole(path string, data []byte) error {
	if err := sys.WriteWhole(path, data); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// setOwner writes who has a job. On a disk without room for a new file the old
// one is written over: names of owners are of one length, and whoever reads half
// of each finds nobody and asks again with the lock.
func setOwner(path, name string) error {
	err := writeWhole(path, []byte(name))
	if err == nil {
		return nil
	}
	f, oerr := os.OpenFile(path, os.O_WRONLY, 0)
	if oerr != nil {
		return err
	}
	defer f.Close()
	if fi, serr := f.Stat(); serr != nil || fi.Size() != int64(len(name)) {
		return err
	}
	_, err = f.WriteAt([]byte(name), 0)
	return err
}
