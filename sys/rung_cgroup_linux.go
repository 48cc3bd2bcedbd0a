package sys

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// cgroupRung makes the containers of one host: a directory of its own, with a
// random name, and in it one for each tree. The guardian watches the former.
type cgroupRung struct {
	host       *linuxHost
	dir        *linux.HeldCgroup
	guardian   *guardian
	record     *keptRecord // nil where none is kept
	unrecorded error       // why, when one was asked for

	// Of a directory for containers with limits; see divide.
	lacks map[string]noLimit // the controllers that its containers have not
	above *linux.Cgroup      // where it lies
	leaf  *linux.HeldCgroup  // where our processes are meanwhile, if they had to move
	given []string           // controllers that above gives only for us
	scope *scope             // that above is, if any

	mu     sync.Mutex
	idle   []*leaf         // containers without a tree
	making bool            // one of those is
	kept   int             // kept containers, idle or not
	closed bool            // none is kept any more
	left   []*linux.Cgroup // containers that could not be removed yet
	proved bool            // a process was born in one
}

// limiting tells whether its containers can hold limits.
func (r *cgroupRung) limiting() bool { return r.above != nil }

// openCgroupRung makes the host's directory. The error names what is missing.
func openCgroupRung(h *linuxHost) (*cgroupRung, error) {
	parent, err := h.home()
	if err != nil {
		return nil, err
	}
	r := &cgroupRung{host: h}
	if err := r.makeDir(parent); err != nil {
		return nil, err
	}
	r.guardian = newGuardian(r.startGuardian)
	r.guardian.hasty = h.opt.Hasty
	return r, nil
}

// containerPrefix begins the names of the directories of hosts.
const containerPrefix = "belfry-"

// makeDir makes the host's directory, and before it the record of it.
func (r *cgroupRung) makeDir(parent string) error {
	name, err := r.note(parent, "")
	if err != nil {
		return err
	}
	if err := r.make(parent, name); err != nil {
		r.record.remove()
		return err
	}
	return nil
}

// note keeps the record of a directory that will be made, where records are
// kept, and gives its name. Without a record the host works with less of a
// guarantee.
func (r *cgroupRung) note(parent, leaf string) (name string, err error) {
	if dir := r.host.opt.Records; dir != "" {
		r.record, r.unrecorded = keepRecord(dir, parent, leaf, r.host.marks.base)
		if isScarce(r.unrecorded) {
			return "", r.unrecorded
		}
		if r.record != nil {
			return filepath.Base(r.record.now.Control), nil
		}
	}
	return containerPrefix + randomName(), nil
}

// make makes the directory.
func (r *cgroupRung) make(parent, name string) error {
	dir, err := claim(parent, name)
	if err != nil {
		return err
	}
	if err := dir.CanKill(); err != nil {
		_ = dir.Remove() // Best effort: it is empty.
		dir.Close()
		return err
	}
	r.dir = dir
	r.record.made()
	return nil
}

// randomBytes is how many a random name is made of.
const randomBytes = 8

// randomName never holds a process number: one is used again.
func randomName() string {
	var b [randomBytes]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

func (r *cgroupRung) guarantee() Guarantee {
	// The next start's sweep finds by the record what nobody ended.
	last := ScopeLeader
	if r.record.stands() {
		last = ScopeTreeOnRestart
	}
	g := Guarantee{Mechanism: CgroupV2, Kill: ScopeTree, LeaderExit: ScopeTree,
		SupervisorDeath: last, HelperDeath: last}
	if armed, _ := r.guardian.isArmed(); armed {
		g.SupervisorDeath = ScopeTree
	}
	return g
}

// start starts the leader in a container of its own.
func (r *cgroupRung) start(sp *Spec, facts *programFacts) (Tree, error) {
	if sp.Want >= LevelTree && !sp.AllowWeaker {
		if armed, why := r.guardian.isArmed(); !armed {
			return nil, unavailable(fmt.Sprintf("no guardian watches, so a killed belfry would leave the tree: %v", why), "try again, or allow a weaker container")
		}
	}
	in, err := r.takeLeaf()
	if err != nil {
		return nil, newCgroupError(err)
	}
	limits, all := r.limit(in.Cgroup, sp.Limits)
	if !all {
		r.discard(in)
		return nil, limitError(limits)
	}
	l, err := r.host.startLeader(sp, facts, in.HeldCgroup)
	if err != nil && in.waited && mayBeTheCgroup(err) {
		// Somebody may have changed the container since its last tree.
		r.discard(in)
		if in, err = r.newLeaf(); err != nil {
			return nil, newCgroupError(err)
		}
		l, err = r.host.startLeader(sp, facts, in.HeldCgroup)
	}
	if err != nil {
		r.discard(in)
		if mayBeTheCgroup(err) {
			if perr := r.prove(); perr != nil {
				err = &cgroupError{err: perr, forGood: shortage(perr) == nil && !errors.Is(perr, errFrozen)}
			}
		}
		return nil, err
	}
	l.bearAll(in.Cgroup)
	in.started()
	r.mu.Lock()
	r.proved = true
	r.mu.Unlock()
	return newCgroupTree(l, r, in, limits), nil
}

// cgroupError is a failure of the rung, not of the program to start. One that is
// for good gives the rung up.
type cgroupError struct {
	err     error
	forGood bool
}

func newCgroupError(err error) *cgroupError {
	return &cgroupError{err: err, forGood: unusableForGood(err)}
}

func (e *cgroupError) Error() string { return e.err.Error() }
func (e *cgroupError) Unwrap() error { return e.err }

// mayBeTheCgroup tells whether clone into a group gives this error: no clone3
// (ENOSYS), no permission at the common ancestor, a group that takes no
// processes. Exec gives some of them too.
func mayBeTheCgroup(err error) bool {
	for _, no := range []syscall.Errno{syscall.ENOSYS, syscall.EINVAL, syscall.EACCES, syscall.EPERM,
		syscall.EBUSY, syscall.EOPNOTSUPP, syscall.ENODEV, syscall.EBADF, syscall.ENOENT} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

func (r *cgroupRung) isProved() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.proved
}

// prove starts and ends a process of our own in a container, unless one was
// started there already.
func (r *cgroupRung) prove() error {
	if r.isProved() {
		return nil
	}
	if !initCalled.Load() {
		return errInitNotCalled
	}
	in, err := r.makeLeaf()
	if err != nil {
		return err
	}
	defer r.discard(in)
	err = r.host.runHelper(in.HeldCgroup, nil, nil, roleNothing)
	if err != nil {
		return fmt.Errorf("start a process in a control group: %w", err)
	}
	r.mu.Lock()
	r.proved = true
	r.mu.Unlock()
	return nil
}

// startGuardian starts the two-step helper and reaps its first step, or, for a
// hasty host, one that is our child.
func (r *cgroupRung) startGuardian(control, status *os.File, self int) (*guardianChild, error) {
	if !initCalled.Load() {
		return nil, errInitNotCalled
	}
	files := []uintptr{control.Fd(), status.Fd(), uintptr(self)}
	if !r.guardian.hasty {
		return nil, r.host.runHelper(nil, files, r.guardian.begins, roleGuardianStart, r.dir.Path(), r.host.marks.name())
	}
	child, err := r.host.startGuardianChild(files, r.dir.Path())
	if err == nil {
		r.guardian.begins()
	}
	return child, err
}

// close ends whatever is still below the host's directory, in a container or
// moved beside it, and only then lets the guardian go. What cannot be ended now
// is left to the guardian, which does not give up.
func (r *cgroupRung) close() error {
	var err error
	if r.shut(); r.dir != nil {
		err = endGroup(r.dir.Cgroup)
	}
	r.guardian.close(err == nil)
	if err == nil {
		err = r.moveBack()
	}
	r.scope.close()
	if err != nil {
		r.record.leave()
		return err
	}
	r.record.remove()
	return nil
}

// groupLimit bounds the wait for the end of what is in a group.
const groupLimit = 2 * time.Second

// endGroup kills what is in a group, waits for its end and removes it. One that
// is gone already is no error.
func endGroup(g *linux.Cgroup) error {
	return removeOnce(g, func() { _ = g.Kill() }) // Best effort: repeated at the next notice.
}

// removeOnce removes a group as soon as nothing lives in it; populated is called
// whenever something does.
func removeOnce(g *linux.Cgroup, populated func()) error {
	events, err := g.Events()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer events.Close()
	if err := events.SetDeadline(time.Now().Add(groupLimit)); err != nil {
		return err
	}
	var readErr error
	err = events.Wait(func(fd int) bool {
		var full bool
		if full, readErr = linux.Populated(fd); full {
			populated()
		}
		return !full
	})
	if err = errors.Join(err, readErr); err != nil {
		return err
	}
	return g.Remove()
}
