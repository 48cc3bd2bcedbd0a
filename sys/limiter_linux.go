package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/belfry-dev/belfry/linux"
)

// limiter opens, when first a limit is asked for, a second directory for
// containers, in a place where the controllers can be had. Jobs without limits
// go on in the first, and cost no more than before.
type limiter struct {
	mu     sync.Mutex
	rung   *cgroupRung // nil until it was opened
	closed bool
	runner []string // what makes a scope; none is systemdRun, if systemd runs
}

// startLimited starts a tree with limits, or nothing. What fails here is never
// passed over: a weaker rung has no limits.
func (h *linuxHost) startLimited(ctx context.Context, sp *Spec, facts *programFacts) (Tree, error) {
	r, list, all := h.limitedRung(ctx, sp.Limits)
	if !all {
		return nil, limitError(list)
	}
	if sp.Want >= LevelStrict || h.opt.Mechanism == PIDNamespace {
		t, err := h.startStrictLimited(ctx, sp, r)
		re, ours := errors.AsType[*rungError](err)
		switch {
		case !ours:
			return t, err
		case shortage(re) != nil:
			return nil, shortage(re)
		case re.passing || !sp.AllowWeaker:
			return nil, unavailable("no "+string(PIDNamespace)+": "+re.Error(), re.remedy)
		}
	}
	r.guardian.await(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := r.start(sp, facts)
	ce, ours := errors.AsType[*cgroupError](err)
	if !ours {
		return t, err
	}
	if se := shortage(ce); se != nil {
		return nil, se
	}
	if errors.Is(ce, errFrozen) {
		return nil, unavailable("no control group: "+ce.Error(), "thaw the control group above, or try again")
	}
	return nil, sp.Limits.refuseAll(CgroupV2, LimitCannotEnter, ce.Error(), delegateRemedy())
}

// limitedRung gives the rung whose containers can hold limits, nil where there
// is none, with records that say which of these they can hold, and whether all.
func (h *linuxHost) limitedRung(ctx context.Context, l Limits) (r *cgroupRung, list []LimitRecord, all bool) {
	lacks := allLack(noLimit{LimitUnsupported, "this host was told to use the mechanism " + string(h.opt.Mechanism), "leave the mechanism open"})
	if m := h.opt.Mechanism; m == "" || m == CgroupV2 || m == PIDNamespace {
		if r, lacks = h.limiter.open(ctx, h); r != nil {
			lacks = r.lacks
		}
	}
	list, all = recordsOf(l, lacking(lacks))
	return r, list, all
}

// probeLimits tries each limit on a container that is thrown away.
func (h *linuxHost) probeLimits(ctx context.Context) []LimitRecord {
	r, list, _ := h.limitedRung(ctx, someLimits)
	if r == nil {
		return list
	}
	in, err := r.makeLeaf()
	if err != nil {
		list, _ = recordsOf(someLimits, lacking(allLack(notOurs(r.dir.Cgroup, err))))
		return list
	}
	defer r.discard(in)
	list, _ = r.limit(in.Cgroup, someLimits)
	return list
}

func lacking(lacks map[string]noLimit) func(LimitName, float64) (float64, *noLimit) {
	return func(name LimitName, value float64) (float64, *noLimit) {
		if why, is := lacks[controllerOf[name]]; is {
			return 0, &why
		}
		return value, nil
	}
}

func allLack(why noLimit) map[string]noLimit {
	out := map[string]noLimit{}
	for _, c := range controllers {
		out[c] = why
	}
	return out
}

// open gives the rung, if need be anew: the scope that it was in may be gone.
func (lm *limiter) open(ctx context.Context, h *linuxHost) (*cgroupRung, map[string]noLimit) {
	lm.mu.Lock()
	defer lm.mu.Unlock()
	if lm.closed {
		return nil, allLack(noLimit{LimitCannotEnter, errHostClosed.Error(), ""})
	}
	if lm.rung != nil {
		if _, err := os.Stat(lm.rung.dir.Path()); err == nil {
			return lm.rung, nil
		}
		_ = lm.rung.close() // Best effort: its directory is gone.
		lm.rung = nil
	}
	r, lacks := h.openLimited(ctx)
	lm.rung = r
	return r, lacks
}

// close ends what is in the rung's containers.
func (lm *limiter) close() error {
	lm.mu.Lock()
	defer lm.mu.Unlock()
	lm.closed = true
	r := lm.rung
	lm.rung = nil
	if r == nil {
		return nil
	}
	return r.close()
}

// home is this process's control group as it was at the start: with limits it
// may move into a group below. It is asked for until it is known, since out of
// descriptors nothing is.
func (h *linuxHost) home() (string, error) {
	h.homeMu.Lock()
	defer h.homeMu.Unlock()
	if h.homeDir != "" {
		return h.homeDir, nil
	}
	home := h.opt.Parent
	if home == "" {
		var err error
		if home, err = linux.OwnCgroup(); err != nil {
			return "", err
		}
	}
	linux.HoldCgroup(home) // before a job could cover it
	h.homeDir = home
	return home, nil
}

// openLimited tries the places in which controllers might be had, the one that
// changes least first, and takes the first that has all of them, else the one
// that has most. Why it lacks some is told of it, else of the last.
func (h *linuxHost) openLimited(ctx context.Context) (*cgroupRung, map[string]noLimit) {
	home, err := h.home()
	if err != nil {
		return nil, allLack(noHome(err))
	}
	missing := map[string]noLimit{}
	for _, c := range controllers {
		switch {
		case linux.ControllerOn1(c):
			missing[c] = noLimit{LimitCgroup1Only, "the " + c + " controller is on a cgroup v1 hierarchy",
				"boot with systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all"}
		case !linux.Offered(c):
			missing[c] = noLimit{LimitControllerMissing, "the kernel has no " + c + " controller, or it is disabled",
				"boot without cgroup_disable=" + c + ", with a kernel that has it"}
		}
	}
	if len(missing) == len(controllers) {
		return nil, missing
	}
	var best *cgroupRung
	var lacks map[string]noLimit
	for _, place := range h.places(home) {
		r, why := place(ctx)
		for c, known := range missing {
			why[c] = known
		}
		if r == nil {
			if best == nil && (lacks == nil || len(why) <= len(lacks)) {
				lacks = why
			}
			continue
		}
		r.lacks = why
		if best == nil || len(why) < len(best.lacks) {
			best, r = r, best
		}
		if r != nil {
			_ = r.close() // Best effort: an empty directory stays at worst.
		}
		if len(best.lacks) == len(missing) {
			break
		}
	}
	return best, lacks
}

// noHome is why nothing can be had where this process's group is not shown.
func noHome(err error) noLimit {
	if !errors.Is(err, linux.ErrNoCgroup2) {
		return noLimit{LimitNotDelegated, err.Error(), delegateRemedy()}
	}
	if slices.ContainsFunc(controllers, linux.ControllerOn1) {
		return noLimit{LimitCgroup1Only, "only cgroup v1 is mounted", "boot with systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all"}
	}
	return noLimit{LimitNoCgroup2, err.Error(), cgroupRemedy(err)}
}

// place is somewhere to try.
type place func(ctx context.Context) (*cgroupRung, map[string]noLimit)

func (h *linuxHost) places(home string) []place {
	in := func(dir string, own bool) place {
		return func(context.Context) (*cgroupRung, map[string]noLimit) { return h.divide(dir, own, nil) }
	}
	if h.opt.Parent != "" {
		return []place{in(home, false)}
	}
	var out []place
	if above := filepath.Dir(home); isOurs(above, home) {
		out = append(out, in(above, false))
	}
	if unit, foreign := undelegated(home); foreign {
		out = append(out, func(context.Context) (*cgroupRung, map[string]noLimit) {
			return nil, allLack(noLimit{LimitNotDelegated, "systemd has not delegated " + unit, delegateRemedy()})
		})
	} else {
		out = append(out, in(home, true))
	}
	if linux.SystemdRuns() || len(h.limiter.runner) > 0 {
		out = append(out, h.inScope)
	}
	return out
}

// undelegated tells whether a group belongs to a unit whose groups systemd has
// kept for itself. It would undo what is done there.
func undelegated(dir string) (unit string, foreign bool) {
	if !linux.SystemdRuns() {
		return "", false
	}
	unit = linux.UnitOf(dir)
	return unit, unit != "" && !linux.Delegated(unit)
}

// isOurs tells whether the group above ours was left to us to divide, so that
// ours may stay as it is: where it is not a group in which an outer belfry keeps
// its jobs, holds no process, and gives ours no more room than it has itself.
// Root may write anywhere, so for root nobody else may have a group there.
func isOurs(above, home string) bool {
	g := linux.CgroupAt(above)
	pids, hidden, err := g.OwnProcs()
	if err != nil || len(pids)+hidden > 0 || linux.IsCgroupRoot(above) || linux.CgroupAt(home).Limited() ||
		strings.HasPrefix(filepath.Base(above), containerPrefix) {
		return false
	}
	if linux.SystemdRuns() {
		unit := linux.UnitOf(home)
		return unit != "" && unit == linux.UnitOf(above) && linux.Delegated(unit)
	}
	if os.Geteuid() != 0 {
		return true
	}
	names, err := g.Children()
	return err == nil && !slices.ContainsFunc(names, func(name string) bool {
		return name != filepath.Base(home) && !strings.HasPrefix(name, containerPrefix)
	})
}

// foreigners are the processes in our own group that we did not start, in words.
func (h *linuxHost) foreigners(g *linux.Cgroup) (ours []int, others string) {
	pids, hidden, err := g.OwnProcs()
	if err != nil {
		return nil, err.Error()
	}
	var list []string
	for _, pid := range pids {
		if name, mine := h.started(pid); mine {
			ours = append(ours, pid)
		} else if name != "" {
			list = append(list, fmt.Sprintf("%d (%s)", pid, name))
		}
	}
	if hidden > 0 {
		list = append(list, fmt.Sprintf("%d of another pid namespace", hidden))
	}
	if len(list) > 4 {
		list = append(list[:4], fmt.Sprintf("%d more", len(list)-4))
	}
	return ours, strings.Join(list, ", ")
}

// started tells whether a process is this one, a guardian of ours or a
// descendant of either. One that is gone has no name.
func (h *linuxHost) started(pid int) (name string, mine bool) {
	self := os.Getpid()
	guardians := h.guardians()
	for n := pid; ; {
		st, err := linux.ReadStat("/proc", n)
		if err != nil {
			return name, false
		}
		if n == pid {
			name = st.Comm
		}
		if n == self || slices.Contains(guardians, n) {
			return name, true
		}
		if n = st.PPID; n <= 1 {
			return name, false
		}
	}
}

// guardians are the helpers of this host that are no descendants of it.
func (h *linuxHost) guardians() []int {
	out := []int{h.shims.keeperProcess()}
	h.rungMu.Lock()
	if h.cgroup != nil {
		out = append(out, h.cgroup.guardian.process())
	}
	h.rungMu.Unlock()
	return slices.DeleteFunc(out, func(pid int) bool { return pid == 0 })
}
