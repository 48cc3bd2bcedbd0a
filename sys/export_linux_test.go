package sys

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// WithoutPidfdGroups makes a host behave as on a kernel before 6.9.
func WithoutPidfdGroups(h Host) { h.(*linuxHost).noPidfdGroups = true }

// HasPidfdGroups tells whether this kernel signals a group by pidfd.
func HasPidfdGroups(h Host) bool { return h.(*linuxHost).can().groupByPidfd }

// HomeOf is the control group that a host takes for this process's.
func HomeOf(h Host) (string, error) { return h.(*linuxHost).home() }

// StartSlow starts a program through the trampoline whatever its file system.
func StartSlow(h Host, sp Spec) (Tree, error) {
	facts, err := preflight(context.Background(), &sp)
	if err != nil {
		return nil, err
	}
	facts.slow = true
	host := h.(*linuxHost)
	switch host.opt.Mechanism {
	case PIDNamespace:
		return host.startStrict(context.Background(), &sp)
	case Subreaper:
		return host.startShim(context.Background(), &sp)
	}
	r, err := host.cgroupRung()
	if err == nil {
		return r.start(&sp, &facts)
	}
	l, err := host.startLeader(&sp, &facts, nil)
	if err != nil {
		return nil, err
	}
	return newGroupTree(l), nil
}

// RanAnother is the check of the started process's own file.
func RanAnother(pid int, path string, approved FileStamp) bool {
	return ranAnother(pid, path, approved)
}

// ContainersOf is the directory of a host's control groups.
func ContainersOf(h Host) string {
	r, err := h.(*linuxHost).cgroupRung()
	if err != nil {
		return ""
	}
	return r.dir.Path()
}

// ContainerOf is the directory of a tree's control group.
func ContainerOf(t Tree) string { return t.(*cgroupTree).leaf.Path() }

// IsGuardianOf tells whether a command line is that of the guardian of dir.
func IsGuardianOf(args []string, dir string) bool {
	return len(args) == 4 && args[0] == helperName && args[1] == roleGuardian && args[2] == dir
}

// IsChildGuardianOf tells whether a command line is that of a hasty host's first
// guardian of dir.
func IsChildGuardianOf(args []string, dir string) bool {
	return len(args) == 4 && args[0] == helperName && args[1] == roleGuardianChild && args[2] == dir
}

// LeaveToGuardian gives the control groups up as a host does that could not end
// what is in them.
func LeaveToGuardian(h Host) {
	host := h.(*linuxHost)
	host.rungMu.Lock()
	r := host.cgroup
	host.cgroup, host.reason = nil, errHostClosed
	host.rungMu.Unlock()
	r.shut()
	r.guardian.close(false)
}

// DieAt does what a starting host does up to a step and calls then: 1 the record
// is there, 2 also the container, 3 the record says which one.
func DieAt(step int, records, parent string, then func()) error {
	k, err := keepRecord(records, parent, "", 0)
	if err != nil {
		return err
	}
	name := k.now.Control
	if step >= 2 {
		if err := os.Mkdir(name, 0o755); err != nil {
			return err
		}
	}
	if step >= 3 {
		k.made()
	}
	then()
	return nil
}

// RecordText is a record as a host of this boot would have written it.
func RecordText(container, boot string, made bool) (string, error) {
	r, err := intendedRecord(filepath.Dir(container))
	if err != nil {
		return "", err
	}
	r.Control = container
	r.PID, r.Start = 1<<30, 1 // nobody's
	if boot != "" {
		r.Boot = boot
	}
	if made {
		if r.Made, err = fileIDOf(container); err != nil {
			return "", err
		}
		r.Made.Inode++
	}
	b, err := r.encode()
	return string(b), err
}

// WithControllers makes hosts give the groups below them these controllers
// instead of those behind limits, so that the moves can be seen where those are
// on cgroup v1, until after is called.
func WithControllers(names ...string) (after func()) {
	was := controllers
	controllers = names
	return func() { controllers = was }
}

// IsOurs tells whether a process in home may divide the group above.
func IsOurs(above, home string) bool { return isOurs(above, home) }

// Divide makes the directory for containers with limits below a group, as the
// first start with limits does, and tells why not.
func Divide(h Host, parent string, own bool) (dir, why string) {
	host := h.(*linuxHost)
	r, lacks := host.divide(parent, own, nil)
	if r == nil {
		for _, no := range lacks {
			why = string(no.reason) + ": " + no.detail + "; " + no.remedy
		}
		return "", why
	}
	host.limiter.mu.Lock()
	host.limiter.rung = r
	host.limiter.mu.Unlock()
	return r.dir.Path(), ""
}

// RunScopesBy makes a host ask this command for scopes instead of systemd's.
func RunScopesBy(h Host, argv ...string) { h.(*linuxHost).limiter.runner = argv }

// OpenScope makes a scope, divides it, and gives its directory.
func OpenScope(h Host, ctx context.Context) (dir, why string) {
	host := h.(*linuxHost)
	r, lacks := host.inScope(ctx)
	if r == nil {
		for _, no := range lacks {
			why = no.detail
		}
		return "", why
	}
	host.limiter.mu.Lock()
	host.limiter.rung = r
	host.limiter.mu.Unlock()
	return r.above.Path(), ""
}

// HelpersOf are the numbers of a host's keeper and of its spare shim, 0 when
// there are none.
func HelpersOf(h Host) (keeper, spare int) {
	s := &h.(*linuxHost).shims
	s.prepare()
	s.mu.Lock()
	p := s.next
	s.mu.Unlock()
	if <-p.done; p.err != nil {
		return 0, 0
	}
	return p.shim.keeper.id.PID, p.shim.id.PID
}

// EndSoon starts a program as a host does its helpers that end soon.
func EndSoon(h Host, sp Spec) (Exit, error) {
	l, err := h.(*linuxHost).spawnLeader(birthIn(nil, linux.SpawnAttr{Path: sp.Path, Argv: sp.Argv, Env: sp.Env,
		Dir: "/", Files: stdioOf(&sp)}))
	if err != nil {
		return Exit{}, err
	}
	defer l.finish()
	err = l.endSoon()
	return l.exit, err
}

// FillReserve makes the spare threads of a host and returns when they are there.
func FillReserve() { makeThreads(spareThreads) }

// KeptLeaves is how many containers a host keeps for others.
const KeptLeaves = keptLeaves

// WaitingContainers are the directories of the containers that wait for a tree.
func WaitingContainers(h Host) (dirs []string) {
	r := h.(*linuxHost).cgroup
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.idle {
		dirs = append(dirs, l.Path())
	}
	return dirs
}

// LooseSpawner starts programs in a group as a host does whose program's threads
// last, and ends them.
func LooseSpawner(in *linux.HeldCgroup, limit time.Duration) (start func(path string) error, stop func()) {
	s := newSpawner(true)
	return func(path string) error {
		c, err := s.spawn(birthIn(in, linux.SpawnAttr{Path: path, Argv: []string{path}, Dir: "/"}), limit)
		if err == nil {
			discard(c.PID, c.Pidfd)
		}
		return err
	}, s.close
}

// Remembers tells whether a host would start the program without reading it.
func Remembers(h Host, path string) bool {
	_, known := h.(*linuxHost).looks.known(&Spec{Path: path, Dir: "/"})
	return known
}

// Marks tells whether a host's trees bear marks.
func Marks(h Host) bool { return h.(*linuxHost).marks.base != 0 }
