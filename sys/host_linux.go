package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// spawnLimit bounds the wait for the spawner: its queue, the clone and the exec.
const spawnLimit = 2 * time.Second

// selfExe is this very program, even after its file was replaced or removed,
// and for a process that may not walk to it; where something was mounted over
// /proc, the path that it had.
func selfExe() string {
	const link = "/proc/self/exe"
	if _, err := os.Readlink(link); err != nil {
		if path, err := linux.OwnPath(); err == nil {
			return path
		}
	}
	return link
}

var errHostClosed = errors.New("the host is closed")

// linuxHost starts trees on the best rung that this machine offers.
type linuxHost struct {
	opt    HostOptions
	tables *views
	marks  *marks
	spawn  *spawner
	umask  func() int // this process's
	// noPidfdGroups: a test took them away.
	noPidfdGroups bool
	shims         shims
	looks         looks

	mu     sync.Mutex
	trees  map[*leader]struct{} // not finished yet
	closed bool
	idle   chan struct{} // closed with the last tree, once the host is closed

	reserve reserve
	sweeper sweeper
	limiter limiter

	homeMu  sync.Mutex
	homeDir string // "": not known yet

	rungMu sync.Mutex
	tried  bool
	cgroup *cgroupRung // nil when not usable
	reason error       // why not
}

func newHost(o HostOptions) (Host, error) {
	switch o.Mechanism {
	case "", PIDNamespace, CgroupV2, Subreaper, ProcessGroup:
	default:
		return nil, fmt.Errorf("mechanism %s: %w", o.Mechanism, ErrUnsupported)
	}
	linux.HoldProc()
	if err := linux.TakeIgnoredSignals(); err != nil {
		return nil, fmt.Errorf("read signal dispositions: %w", err)
	}
	h := &linuxHost{opt: o, spawn: newSpawner(o.Hasty || o.ThreadsLast), trees: map[*leader]struct{}{},
		marks: newMarks()}
	_ = h.can() // the kernel is asked before descriptors are short
	h.shims.host = h
	h.tables = newViews(h.marks.base)
	h.umask = sync.OnceValue(func() int {
		mask, _ := Umask()
		return mask
	})
	return h, nil
}

// cgroupRung opens the rung once and keeps why it could not.
func (h *linuxHost) cgroupRung() (*cgroupRung, error) {
	if err := h.leftOut(CgroupV2); err != nil {
		return nil, err
	}
	h.rungMu.Lock()
	defer h.rungMu.Unlock()
	if !h.tried {
		h.cgroup, h.reason = openCgroupRung(h)
		// Out of descriptors or memory: the next one may have more luck.
		h.tried = !isScarce(h.reason)
	}
	return h.cgroup, h.reason
}

// refuseCgroup gives the rung up for good.
func (h *linuxHost) refuseCgroup(why error) {
	h.rungMu.Lock()
	r := h.cgroup
	h.cgroup, h.reason = nil, why
	h.rungMu.Unlock()
	if r != nil {
		_ = r.close() // Best effort: an empty directory stays at worst.
	}
}

// leftOut is the error of a rung that this host was told not to use.
func (h *linuxHost) leftOut(m Mechanism) error {
	if h.opt.Mechanism == "" || h.opt.Mechanism == m {
		return nil
	}
	return fmt.Errorf("only %s was asked for", h.opt.Mechanism)
}

// Prepare opens the rung and starts its helpers in the background. Once it also
// ends what dead supervisors have left. A hasty host does that later, and opens
// the rung before Prepare returns: its start waits for that anyway, and a thread
// more would cost more than it gives.
func (h *linuxHost) Prepare() {
	if h.opt.Hasty {
		h.startHelpers()
		return
	}
	h.settle()
	go h.startHelpers()
}

// executable is the program of the helpers.
func (h *linuxHost) executable() string {
	if h.opt.Executable != "" {
		return h.opt.Executable
	}
	return selfExe()
}

func (h *linuxHost) startHelpers() {
	switch r, err := h.cgroupRung(); {
	case err == nil:
		r.guardian.prepare()
	case !isScarce(err) && h.opt.Mechanism != ProcessGroup && initCalled.Load():
		h.shims.prepare()
	}
}

// hastyPause is how long a hasty host's command runs before what is not for its
// sake is done: a short one is over by then, and does not share the processor.
const hastyPause = 10 * time.Millisecond

// settle does in the background what a host owes to the time after its start.
func (h *linuxHost) settle() {
	h.reserve.fill()
	h.sweeper.start(h.Sweep)
}

// Sweep ends what dead supervisors have left.
func (h *linuxHost) Sweep(ctx context.Context) ([]SweepResult, error) {
	if home, err := h.home(); err == nil {
		defer sweepEmpty(ctx, home) // once the records have told of theirs
	}
	if !h.opt.Hasty {
		continueForsaken()
	}
	if h.opt.Records == "" {
		return nil, nil
	}
	return sweepRecords(ctx, h.opt.Records)
}

// Lookup reads the identity of a live process.
func (h *linuxHost) Lookup(pid int) (ID, error) {
	st, err := linux.ReadStat("/proc", pid)
	if err != nil {
		return ID{}, err
	}
	return idOfLive(st), nil
}

// Start starts one tree on the best rung that works here, or nothing.
func (h *linuxHost) Start(ctx context.Context, sp Spec) (Tree, error) {
	if err := sp.validate(); err != nil {
		return nil, err
	}
	if h.opt.Hasty {
		time.AfterFunc(hastyPause, h.settle)
	} else {
		h.reserve.fill()
	}
	if sp.Limits.Any() {
		facts, err := h.lookAhead(ctx, &sp)
		if err != nil {
			return nil, err
		}
		return h.startLimited(ctx, &sp, &facts)
	}
	return h.startOnBest(ctx, &sp)
}

// startLeader starts the program in a control group, or in ours when that is
// nil, and makes sure that it is the approved one.
func (h *linuxHost) startLeader(sp *Spec, facts *programFacts, in *linux.HeldCgroup) (*leader, error) {
	if h.jumps(sp, facts) {
		return h.startThrough(sp, facts, in)
	}
	b := birthIn(in, linux.SpawnAttr{Path: sp.Path, Argv: sp.Argv, Env: sp.Env, Dir: sp.Dir,
		Files: stdioOf(sp), OnDeath: syscall.SIGKILL,
		Shared: sp.Session == SessionShared, Terminal: sp.Session == SessionTerminal})
	if (sp.Approved != FileStamp{}) {
		b.before = func() error {
			if now, err := stamp(sp.Path); err != nil || now != sp.Approved {
				return changed(sp.Path)
			}
			return nil
		}
	}
	l, err := h.spawnLeader(b)
	runtime.KeepAlive(sp)
	if err != nil {
		if _, told := errors.AsType[*StartError](err); facts.recalled && !told {
			// What is there by now explains the error.
			fresh, lerr := preflight(context.Background(), sp)
			if lerr != nil {
				return nil, lerr
			}
			facts = &fresh
		}
		return nil, spawnError(sp, facts, err)
	}
	l.bear(h.marks.next())
	if (sp.Approved != FileStamp{}) && facts.program.Native() && ranAnother(l.id.PID, sp.Path, sp.Approved) {
		l.abort()
		return nil, changed(sp.Path)
	}
	return l, nil
}

// ranAnother tells whether the started process runs another file than the
// approved one. A link that cannot be read (it ended, or it is privileged) and
// a program that has put another in its place meanwhile are no such thing.
func ranAnother(pid int, path string, approved FileStamp) bool {
	now, err := stamp(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil || now == approved {
		return false
	}
	name, err := linux.ExecName(pid)
	return err == nil && name == path
}

// spawnLeader starts a process and remembers it until it is finished.
func (h *linuxHost) spawnLeader(b birth) (*leader, error) {
	c, err := h.spawn.spawn(b, spawnLimit)
	if err != nil {
		return nil, err
	}
	l, err := newLeader(c, h.can(), h.tables)
	if err != nil {
		return nil, err
	}
	if err := h.watch(l); err != nil {
		l.abort()
		return nil, err
	}
	return l, nil
}

// watch remembers a leader until it is finished.
func (h *linuxHost) watch(l *leader) error {
	l.finished = func() {
		l.stat.close()
		h.forget(l)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errHostClosed
	}
	h.trees[l] = struct{}{}
	return nil
}

// runHelper runs this binary in a role that ends soon, with further files from
// descriptor 3 up, and reaps it.
func (h *linuxHost) runHelper(in *linux.HeldCgroup, files []uintptr, begun func(), role ...string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	fd := null.Fd()
	l, err := h.spawnLeader(birthIn(in, linux.SpawnAttr{
		Path: h.executable(), Argv: append([]string{helperName}, role...), Env: helperEnv(), Dir: "/",
		Files: append([]uintptr{fd, fd, fd}, files...),
	}))
	if err != nil {
		return err
	}
	defer l.finish()
	if begun != nil {
		begun()
	}
	if err := l.endSoon(); err != nil {
		return err
	}
	if role[0] == roleKeeperStart && l.exit.Code != 0 && l.exit.Signal == 0 {
		return syscall.Errno(l.exit.Code)
	}
	if l.exit.Code != 0 || l.exit.Signal != 0 {
		return fmt.Errorf("helper %s: status %d, signal %d", role[0], l.exit.Code, int(l.exit.Signal))
	}
	return nil
}
