package sys

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/belfry-dev/belfry/darwin"
)

// Probe starts a process of our own in a group, sees its end and proves the
// group empty.
func (h *darwinHost) Probe(ctx context.Context) Report {
	release, err := darwin.Release()
	if err != nil {
		release = "unknown"
	}
	r := Report{OS: runtime.GOOS, Kernel: release, Notes: []string{
		strongestHere + ": one that calls setsid is followed by ancestry as far as the process table shows it.",
		"An ended leader stays visible to kill -0 until its group is empty.",
	}}
	r.Limits = someLimits.refuseAll("", LimitUnsupported, noLimits, limitRemedy).Limits
	rung := Rung{Mechanism: ProcessGroup}
	if err := h.tryGroup(ctx); err != nil {
		rung.Reason, rung.Remedy = err.Error(), "see whether a limit of processes or a sandbox forbids it"
		r.Rungs = []Rung{rung}
		return r
	}
	h.guardian.await(ctx)
	guarded, why := h.guardian.isArmed()
	if !guarded {
		note := "No guardian is running, so a killed belfry leaves its jobs behind."
		if why != nil {
			note += " Reason: " + why.Error() + "."
		}
		r.Notes = append(r.Notes, note)
	}
	rung.Usable, rung.Guarantee = true, groupGuarantee(guarded)
	r.Rungs, r.Best = []Rung{rung}, ProcessGroup
	return r
}

func (h *darwinHost) tryGroup(ctx context.Context) error {
	if !initCalled.Load() {
		return errInitNotCalled
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	n := null.Fd()
	pid, err := syscall.ForkExec(h.opt.Executable, []string{helperName, roleNothing}, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []uintptr{n, n, n}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return fmt.Errorf("start a process: %w", err)
	}
	id, err := identify(pid)
	if err != nil {
		discard(pid)
		return err
	}
	t := newGroupTree(h, id)
	if err := h.keep(t); err != nil {
		discard(pid)
		return err
	}
	go t.run()
	select {
	case <-t.Empty():
	case <-ctx.Done():
		discardTree(t)
		return ctx.Err()
	}
	code := t.Exit()
	if err := t.Release(); err != nil {
		return err
	}
	if code.Code != 0 || code.Signal != 0 {
		return fmt.Errorf("a process that exits with 0 ended with %+v", code)
	}
	return nil
}

// discardTree ends a tree that did not end by itself.
func discardTree(t *groupTree) {
	// Best effort: its leader is reaped when it ends.
	_, _ = t.send(SIGKILL)
	_ = t.Release()
}
