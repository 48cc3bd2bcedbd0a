package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// divide makes a directory for containers with limits below a group: what
// controllers that has are given to the groups below it. Where the group is our
// own, and not the root of all, our processes first move into a group beside
// the containers: the kernel wants processes in the leaves alone.
func (h *linuxHost) divide(parent string, own bool, in *scope) (*cgroupRung, map[string]noLimit) {
	g := linux.CgroupAt(parent)
	can, err := g.Controllers()
	if err != nil {
		return nil, allLack(notOurs(g, err))
	}
	have, err := g.Enabled()
	if err != nil {
		return nil, allLack(notOurs(g, err))
	}
	r := &cgroupRung{host: h, scope: in, lacks: map[string]noLimit{}}
	var give []string
	for _, c := range controllers {
		switch {
		case slices.Contains(have, c):
		case slices.Contains(can, c):
			give = append(give, c)
		default:
			r.lacks[c] = noLimit{LimitNotDelegated, "the group above " + parent + " does not give it the " + c + " controller", delegateRemedy()}
		}
	}
	if len(r.lacks) == len(controllers) {
		return nil, r.lacks
	}
	var ours []int
	if own && len(give) > 0 && !linux.IsCgroupRoot(parent) {
		var others string
		if ours, others = h.foreigners(g); others != "" {
			remedy := delegateRemedy()
			if h.besideKin(g) {
				remedy = kinRemedy
			}
			return nil, allLack(noLimit{LimitNotDelegated, parent + " holds processes of others beside this one: " + others, remedy})
		}
	}
	if err := r.settle(g, ours, give); err != nil {
		_ = r.close() // Best effort: nothing runs in it.
		return nil, allLack(notOurs(g, err))
	}
	if len(r.lacks) == len(controllers) {
		_ = r.close() // Best effort: as above.
		return nil, r.lacks
	}
	if err := r.prove(); err != nil {
		_ = r.close() // Best effort: as above.
		return nil, allLack(noLimit{LimitCannotEnter, err.Error(), delegateRemedy()})
	}
	return r, r.lacks
}

// kinRemedy is for two of this program in one group, such as a server and what
// supervises a job that is to outlive it: neither may move the other.
const kinRemedy = "one of them is belfry itself: run the job without detach, or start belfry in a writable cgroup v2 group " +
	"that is alone below another one which is writable and holds no process"

// besideKin reports whether a stranger in a group runs this very program.
func (h *linuxHost) besideKin(g *linux.Cgroup) bool {
	mine, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	pids, _, err := g.OwnProcs()
	return err == nil && slices.ContainsFunc(pids, func(pid int) bool {
		if _, ours := h.started(pid); ours {
			return false
		}
		fi, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil && os.SameFile(mine, fi)
	})
}

// notOurs is why a group cannot be divided.
func notOurs(g *linux.Cgroup, err error) noLimit {
	reason := LimitNotDelegated
	if no := syscall.Errno(0); !errors.Is(err, fs.ErrPermission) && errors.As(err, &no) && no != syscall.EROFS && no != syscall.EBUSY {
		reason = LimitWriteRejected
	}
	return noLimit{reason, fmt.Sprintf("%s: %v", g.Path(), err), delegateRemedy()}
}

// settle moves, gives the controllers and makes the directory, in this order;
// with a record before each thing that would stay behind a kill.
func (r *cgroupRung) settle(g *linux.Cgroup, ours []int, give []string) error {
	r.guardian = newGuardian(r.startGuardian)
	r.above = g
	leaf := ""
	if len(ours) > 0 {
		leaf = g.Path() + "/" + containerPrefix + randomName()
	}
	name, err := r.note(g.Path(), leaf)
	if err != nil {
		return err
	}
	if leaf != "" {
		if err := r.moveTo(g, leaf); err != nil {
			return err
		}
	}
	for _, c := range give {
		if err := g.Enable(c); err != nil {
			r.lacks[c] = notOurs(g, err)
		} else if r.leaf != nil {
			r.given = append(r.given, c)
		}
	}
	if err := r.make(g.Path(), name); err != nil {
		return err
	}
	for _, c := range controllers {
		if _, lacks := r.lacks[c]; lacks {
			continue
		}
		if err := r.dir.Enable(c); err != nil {
			r.lacks[c] = notOurs(r.dir.Cgroup, err)
		}
	}
	return nil
}

// moveTo moves our processes into a leaf of their own, this one first, so that
// what it starts from then on is born there.
func (r *cgroupRung) moveTo(g *linux.Cgroup, leaf string) error {
	made, err := claim(g.Path(), filepath.Base(leaf))
	if err != nil {
		return err
	}
	r.leaf = made
	if err := made.Take(os.Getpid()); err != nil {
		return err
	}
	for {
		ours, others := r.host.foreigners(g)
		if len(ours) == 0 || others != "" {
			return nil // with others there, giving controllers fails and says so
		}
		for _, pid := range ours {
			if err := made.Take(pid); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
	}
}

// moveBack undoes moveTo and what was given, once no container is left.
func (r *cgroupRung) moveBack() error {
	if r.leaf == nil {
		return nil
	}
	defer r.leaf.Close()
	for _, c := range r.given {
		if err := r.above.Disable(c); err != nil {
			return err // another belfry has containers there by now
		}
	}
	pids, _, err := r.leaf.OwnProcs()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := r.above.Take(pid); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return removeOnce(r.leaf.Cgroup, func() {}) // its last processes are just leaving it
}
