package sys

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"syscall"

	"github.com/belfry-dev/belfry/linux"
)

// Probe tries every rung by starting a process of our own on it.
func (h *linuxHost) Probe(ctx context.Context) Report {
	rep := Report{OS: runtime.GOOS, Kernel: linux.KernelRelease()}
	rep.Rungs = []Rung{h.probeHeld(ctx, &inNamespace), h.probeCgroup(ctx, &rep),
		h.probeHeld(ctx, &underShim), h.probeGroup()}
	for _, r := range rep.Rungs {
		// What a namespace changes for a job is for those who ask for it.
		if r.Usable && (r.Mechanism != PIDNamespace || h.opt.Mechanism == PIDNamespace) {
			rep.Best = r.Mechanism
			break
		}
	}
	rep.Limits = h.probeLimits(ctx)
	if !h.can().groupByPidfd {
		rep.Notes = append(rep.Notes, "This kernel is older than 6.9: on the process_group rung an ended leader stays visible to kill -0 until its group is empty.")
	}
	return rep
}

func (h *linuxHost) probeCgroup(ctx context.Context, rep *Report) Rung {
	rung := Rung{Mechanism: CgroupV2}
	r, err := h.cgroupRung()
	if err == nil {
		err = r.prove()
	}
	if err != nil {
		rung.Reason, rung.Remedy = err.Error(), cgroupRemedy(err)
		return rung
	}
	r.guardian.await(ctx)
	if armed, why := r.guardian.isArmed(); !armed {
		note := "No guardian is running, so a killed belfry takes only the leaders with it."
		if why != nil {
			note += " Reason: " + why.Error() + "."
		}
		rep.Notes = append(rep.Notes, note)
	}
	if r.unrecorded != nil {
		rep.Notes = append(rep.Notes, "No record is kept of the control group, so no sweep finds what a killed belfry and guardian leave. Reason: "+r.unrecorded.Error()+".")
	}
	rung.Usable, rung.Guarantee = true, r.guarantee()
	return rung
}

func (h *linuxHost) probeHeld(ctx context.Context, held *holding) Rung {
	rung := Rung{Mechanism: held.guarantee.Mechanism}
	err := h.leftOut(rung.Mechanism)
	if err == nil {
		err = h.proveHeld(ctx, held)
	}
	if err != nil {
		rung.Reason, rung.Remedy = err.Error(), heldRemedy(held, err)
		return rung
	}
	rung.Usable, rung.Guarantee = true, held.guarantee
	return rung
}

func (h *linuxHost) probeGroup() Rung {
	rung := Rung{Mechanism: ProcessGroup}
	err := errInitNotCalled
	if initCalled.Load() {
		err = h.runHelper(nil, nil, nil, roleNothing)
	}
	if err != nil {
		rung.Reason, rung.Remedy = "start a process: "+err.Error(), "see whether a limit of processes or a sandbox forbids it"
		return rung
	}
	rung.Usable, rung.Guarantee = true, groupGuarantee
	return rung
}

// cgroupRemedy tells what would make the control group rung usable.
func cgroupRemedy(err error) string {
	switch {
	case errors.Is(err, linux.ErrNoCgroup2):
		return "mount cgroup2 (mount -t cgroup2 none /sys/fs/cgroup), or boot with systemd.unified_cgroup_hierarchy=1"
	case errors.Is(err, syscall.EROFS):
		return "give the container a writable cgroup file system"
	case errors.Is(err, fs.ErrPermission):
		return "run as root, in a systemd user service, or in a scope with Delegate=yes: systemd-run --user --scope -p Delegate=yes"
	case errors.Is(err, syscall.ENOSYS):
		return "let the sandbox permit clone3, or use a kernel from 5.7 on"
	case errors.Is(err, errInitNotCalled):
		return "call sys.Init at the start of main"
	}
	return "run belfry in a control group of its own that it may write"
}
