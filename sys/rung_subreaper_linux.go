package sys

import (
	"context"
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// holding is what a shim makes of its tree.
type holding struct {
	strict    bool
	guarantee Guarantee
	lost      Guarantee // once the shim was killed
	proof     Proof
}

var underShim = holding{
	guarantee: Guarantee{Mechanism: Subreaper, Kill: ScopeTree, LeaderExit: ScopeTree,
		SupervisorDeath: ScopeTree, HelperDeath: ScopeLeader},
	lost: Guarantee{Mechanism: Subreaper, Kill: ScopeGroup, LeaderExit: ScopeGroup,
		SupervisorDeath: ScopeLeader, HelperDeath: ScopeLeader},
	proof: ProofNoChildren,
}

// startShim starts the program under a shim of its own.
func (h *linuxHost) startShim(ctx context.Context, sp *Spec) (Tree, error) {
	defer h.shims.prepareSoon()
	return h.startHeld(ctx, sp, &underShim, nil)
}

// startHeld starts the program under a shim, in the container that the shim is
// to make, and in a control group with limits, unless that is nil. A shim may
// wait for a slow file system, so nothing is looked at before: only what failed
// is, for the reason.
func (h *linuxHost) startHeld(ctx context.Context, sp *Spec, held *holding, in *linux.Cgroup) (Tree, error) {
	o := order{Path: sp.Path, Dir: sp.Dir, Argv: sp.Argv, Env: sp.Env, Approved: sp.Approved, Umask: sp.Umask,
		Strict: held.strict, Terminal: sp.Session == SessionTerminal, Mark: h.marks.next()}
	c, err := h.shims.take(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, shimRefused(err)
	}
	if in != nil {
		if err := in.Take(c.id.PID); err != nil {
			c.free()
			return nil, sp.Limits.refuseAll(CgroupV2, LimitCannotEnter, err.Error(), delegateRemedy())
		}
	}
	l, err := h.orderLeader(ctx, c, sp, &o)
	if err != nil {
		c.free()
		return nil, err
	}
	l.mark = o.Mark
	return newShimTree(l, c, held), nil
}

// shimRefused is the error of a shim that could not be had. Whether it can be
// had at all here decides the kind of failure.
func shimRefused(err error) *rungError {
	e := &rungError{err: err, passing: true, remedy: "try again"}
	if errors.Is(err, errInitNotCalled) {
		e.passing, e.remedy = false, "call sys.Init at the start of main"
	}
	for _, no := range []syscall.Errno{syscall.EACCES, syscall.EPERM, syscall.ENOSYS, syscall.EINVAL, syscall.ENOENT, syscall.EOPNOTSUPP} {
		if errors.Is(err, no) {
			e.passing, e.remedy = false, "let the sandbox permit that a process starts itself again and becomes a subreaper"
		}
	}
	return e
}

// orderLeader has a shim start the leader and takes it over.
func (h *linuxHost) orderLeader(ctx context.Context, c *shimLink, sp *Spec, o *order) (*leader, error) {
	if err := sendOrder(c, sp, o.encode()); err != nil {
		return nil, err
	}
	w, files, err := c.receiveWithin(spawnLimit)
	switch {
	case os.IsTimeout(err):
		held := isHeld(c.id)      // itself, or the init that it started
		c.signal(syscall.SIGKILL) // the death signal takes along what it may have started
		if held {
			return nil, shimRefused(errHelperStopped)
		}
		return nil, startTimeout(sp.Path, spawnLimit)
	case shortage(err) != nil:
		return nil, shortage(err) // the shim ends what it may have started
	case err != nil:
		return nil, &StartError{Code: CodeSpawn, Path: sp.Path, Detail: "the helper process that was to start it ended: " + err.Error(), Err: err}
	case w.kind == wordFailed:
		return nil, failedOrder(ctx, sp, int(w.arg(0)), syscall.Errno(w.arg(1)))
	case w.kind == wordEmpty:
		return nil, &StartError{Code: CodeSpawn, Path: sp.Path, Detail: "the helper process that was to start it was killed", Err: errHelperLost}
	case w.kind != wordStarted || len(files) != 1:
		closeAll(files)
		return nil, errWord
	}
	l, err := h.adopt(files[0], int(w.arg(0)), uint64(w.arg(1)))
	if err != nil {
		return nil, spawnError(sp, &programFacts{}, err)
	}
	if w.arg(0) == 0 {
		// An error means that the shim has ended, which its end of the socket tells.
		_ = c.send(word{kind: wordTaken})
	}
	return l, nil
}

// sendOrder sends the order in its message if it is short, as most are.
func sendOrder(c *shimLink, sp *Spec, text []byte) error {
	var pass []int
	for _, fd := range stdioOf(sp) {
		pass = append(pass, int(fd))
	}
	m := []byte{wordOrder}
	if len(text) <= maxInline {
		m = append(m, text...)
	} else {
		file, err := linux.MemFile("order", text)
		if err != nil {
			return spawnError(sp, &programFacts{}, err)
		}
		defer file.Close()
		pass = append(pass, int(file.Fd()))
	}
	err := c.sendRaw(m, pass...)
	runtime.KeepAlive(sp)
	if err != nil {
		return shimRefused(err)
	}
	return nil
}

// failedOrder is orderError after a look at what was to be started.
func failedOrder(ctx context.Context, sp *Spec, step int, no syscall.Errno) error {
	if step == stepHelper {
		return shimRefused(no)
	}
	facts, err := preflight(ctx, sp)
	if err != nil {
		return err
	}
	return orderError(sp, &facts, step, no)
}

// orderError turns what a shim could not do into the error of the start.
func orderError(sp *Spec, facts *programFacts, step int, no syscall.Errno) error {
	switch step {
	case stepDir:
		return dirError(sp.Dir, no)
	case stepCheck:
		return changed(sp.Path)
	case stepExec:
		return spawnError(sp, facts, no)
	}
	return shimRefused(no)
}

// adopt takes over a leader that a helper started. Without a number it is read,
// and the helper has not reaped it yet.
func (h *linuxHost) adopt(pidfd, pid int, start uint64) (*leader, error) {
	id := idOf(linux.Child{PID: pid, Pidfd: pidfd, Start: start})
	if pid == 0 {
		n, err := linux.PidfdPID(pidfd)
		if err == nil {
			id, err = identify(n, pidfd)
		}
		if err != nil {
			linux.CloseFD(pidfd)
			return nil, err
		}
	}
	l, err := makeLeader(id, pidfd, h.can(), h.tables)
	if err != nil {
		return nil, err
	}
	l.reaped = true // its number is not ours to hold
	if err := h.watch(l); err != nil {
		l.pidfd.Close()
		return nil, err
	}
	return l, nil
}

// proveHeld starts a process of our own under a shim and sees its tree end.
func (h *linuxHost) proveHeld(ctx context.Context, held *holding) error {
	if !initCalled.Load() {
		return errInitNotCalled
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	sp := Spec{Path: h.executable(), Argv: []string{helperName, roleNothing}, Env: helperEnv(), Dir: "/",
		Stdio: [3]*os.File{null, null, null}}
	t, err := h.startHeld(ctx, &sp, held, nil)
	if err != nil {
		return err
	}
	defer t.Release() //nolint:errcheck // it has none
	timer := time.NewTimer(helperLimit)
	defer timer.Stop()
	select {
	case <-t.Empty():
		return nil
	case <-timer.C:
		_, _ = t.Kill(ctx) // Best effort: the host's close ends it else.
		return errors.New("a process of our own does not end")
	}
}
