package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/belfry-dev/belfry/sys"
)

// What ends a run beside the command's own end.
const (
	byOverall       job.EndedBy = "overall"
	byIdle          job.EndedBy = "idle"
	byOverflowOut   job.EndedBy = "overflow_stdout"
	byOverflowErr   job.EndedBy = "overflow_stderr"
	byControlCancel job.EndedBy = "control_cancel"
	byControlStop   job.EndedBy = "control_stop" // as cancel, with a grace
	byControlKill   job.EndedBy = "control_kill"
	byForeground    job.EndedBy = "foreground"

	// bySignal is followed by the word of the event: bySignal + "sigterm".
	bySignal = "signal:"
	ctrlC    = "ctrl_c"
)

// end begins to end the run for a cause; the first cause stands. It does
// nothing to a run that has not started or is over.
func (r *run) end(by job.EndedBy, hard bool) {
	<-r.started
	if r.job != nil {
		r.job.End(by, r.grace(by), hard)
	}
}

func (r *run) late(idle bool) {
	if idle {
		r.end(byIdle, false)
	} else {
		r.end(byOverall, false)
	}
}

// grace is the time between soft stop and hard kill; 0 where none was asked for.
func (r *run) grace(by job.EndedBy) time.Duration {
	if g := r.graceAsked(by); g != nil {
		return *g
	}
	return 0
}

func (r *run) graceAsked(by job.EndedBy) *time.Duration {
	if by == byControlStop {
		if g := r.stopGrace.Load(); g != nil {
			return g
		}
	}
	if r.o.Grace == nil && (by == byControlStop || strings.HasPrefix(string(by), bySignal)) {
		g := SignalGrace
		return &g
	}
	return r.o.Grace
}

// decided writes the ending event: what ends the run is settled.
func (r *run) decided(by job.EndedBy) {
	r.clocks.over()
	r.detail.stages.Decided = now()
	r.stream.end(r.endingEvent(by))
}

func (r *run) endingEvent(by job.EndedBy) Event {
	var grace *int64
	if g := r.graceAsked(by); g != nil {
		ms := g.Milliseconds()
		grace = &ms
	}
	switch {
	case by.Natural():
		exit := r.job.Teardown().Exit
		if exit.Signal != 0 {
			n := int(exit.Signal)
			return RootExited{Outcome: "signalled", Signal: &n}
		}
		return RootExited{Outcome: "exited", Code: &exit.Code}
	case by == byOverall:
		return Timeout{TimeoutMS: r.o.Timeout.Milliseconds(), GraceMS: grace, Reason: "overall"}
	case by == byIdle:
		return Timeout{TimeoutMS: r.o.IdleTimeout.Milliseconds(), GraceMS: grace, Reason: "idle"}
	case by == byOverflowOut:
		return OutputOverflow{Stream: "stdout", MaxBytes: r.o.CaptureMax, GraceMS: grace}
	case by == byOverflowErr:
		return OutputOverflow{Stream: "stderr", MaxBytes: r.o.CaptureMax, GraceMS: grace}
	case by == byControlKill:
		return Killed{Source: "control_kill"}
	case by == byForeground:
		return ContainerFailed{Phase: "foreground", Code: ExitBackend, Message: r.screen.failed.Error()}
	case by == byControlCancel, by == byControlStop:
		return Cancelled{Source: "control_cancel", GraceMS: grace}
	}
	return Cancelled{Source: strings.TrimPrefix(string(by), bySignal), GraceMS: grace}
}

// obey does what signals and ctx ask for until the run is over. The same stop
// signal again is the hard kill.
func (r *run) obey(ctx context.Context, j *job.Job) {
	seen := map[string]bool{}
	done := ctx.Done()
	for {
		select {
		case s := <-r.signals.c:
			word, stops := stopWord(s)
			if !stops || word == ctrlC && r.screen.apart {
				r.pass(j, s)
				continue
			}
			r.end(job.EndedBy(bySignal+word), seen[word])
			if seen[word] {
				j.Abandon()
			}
			seen[word] = true
		case <-done:
			done = nil
			r.end(bySignal+"sigterm", false)
		case <-j.Done():
			return
		}
	}
}

// finish writes what is told of a run whose tree is over.
func (r *run) finish(j *job.Job) Ending {
	s, f := j.Snapshot(), j.Teardown()
	if r.clocks.blocked.Load() > 0 {
		r.warn("nobody reads what we copy; the rest of the output is given up")
	}
	r.detail.note(s.Usage, f)
	if r.o.Limits.Any() {
		r.stream.write(LimitEvidence{Memory: trip(f.Evidence.Memory), Processes: trip(f.Evidence.Tasks), CPU: trip(f.Evidence.CPUs)})
	}
	r.stream.write(summaryOf(s.Usage))
	r.stream.write(CleanupStarted{MembersBefore: f.Before, ReadError: f.BeforeUnsure})
	r.stream.write(cleanupOf(f, s.Guarantee))
	if r.capture != nil {
		c := r.capture.result()
		r.stream.write(c)
		if r.unbounded && r.o.JSONL == "" && !r.o.CaptureCancel {
			r.warnCut(c)
		}
	}
	return r.over(r.outcome(s.EndedBy, f))
}

func trip(e sys.Evidence) Trip {
	switch e {
	case sys.Tripped:
		return Tripped
	case sys.NotTripped:
		return NotTripped
	}
	return TripUnsure
}

func summaryOf(u *job.Usage) ResourceSummary {
	cpu := int64(-1)
	if u.CPU >= 0 {
		cpu = u.CPU.Milliseconds()
	}
	return ResourceSummary{PeakMemory: known(u.PeakMemory), CPU: known(cpu), IORead: known(u.IORead),
		IOWrite: known(u.IOWrite), PeakTasks: known(int64(u.PeakProcesses))}
}

func cleanupOf(f job.Teardown, g *job.Guarantee) CleanupFinished {
	c := CleanupFinished{Remaining: len(f.Remaining), RemainingPIDs: []int{}, ReadError: f.RestUnsure, KillError: f.KillFailed}
	for _, m := range f.Remaining {
		c.RemainingPIDs = append(c.RemainingPIDs, m.ID.PID)
	}
	if !f.Soft {
		return c
	}
	sh := &Shutdown{SoftStopScope: "whole_tree", SoftSignal: "sent"}
	word := "signalled"
	switch {
	case errors.Is(f.SoftErr, sys.ErrUnsupported):
		word, sh.SoftSignal, sh.SoftStopScope = "unsupported", "unsupported", "none"
	case f.SoftErr != nil:
		word, sh.SoftSignal = "failed", "failed"
	case g.Kill != string(sys.ScopeTree):
		sh.SoftStopScope = "opt_in_members" // who left the group was not reached
	}
	if !f.BeforeUnsure {
		sh.MembersBefore = &f.Before
	}
	if !f.AfterUnsure {
		sh.MembersAfter = &f.After
	}
	drained, ms := !f.Escalated, f.Took.Milliseconds()
	sh.DrainedWithinGrace, sh.Escalated, sh.ElapsedMS = &drained, &f.Escalated, &ms
	c.SoftTerminate, c.Shutdown = &word, sh
	return c
}

// outcome turns what ended the run into its code and its words for a person.
func (r *run) outcome(by job.EndedBy, f job.Teardown) Ending {
	how := "the process tree was killed"
	if f.Soft {
		how = "the process tree was asked to end"
		if g := r.graceAsked(by); g != nil {
			how += fmt.Sprintf(", with a grace of %s", value.FormatDuration(*g))
		}
		if f.Escalated {
			how += ", and killed"
		}
	}
	switch {
	case by.Natural():
		code := f.Exit.Code
		if f.Exit.Signal != 0 {
			code = 128 + int(f.Exit.Signal)
		}
		return Ending{Code: code, Source: SourceChild, ChildCode: &code}
	case by == byOverall:
		return Ending{Source: SourceTimeout, Message: fmt.Sprintf("timed out after %s; %s", value.FormatDuration(r.o.Timeout), how)}
	case by == byIdle:
		return Ending{Source: SourceTimeout, Message: fmt.Sprintf("no output for %s; %s", value.FormatDuration(r.o.IdleTimeout), how)}
	case by == byOverflowOut, by == byOverflowErr:
		name := strings.TrimPrefix(string(by), "overflow_")
		return Ending{Source: SourceOverflow, Message: fmt.Sprintf("output went over the ceiling of %d bytes on %s; %s", r.o.CaptureMax, name, how)}
	case by == byControlCancel:
		return Ending{Source: SourceControlCancel, Message: "cancelled by belfry cancel; " + how}
	case by == byControlStop:
		return Ending{Source: SourceControlCancel, Message: "stopped by belfry stop; " + how}
	case by == byControlKill:
		return Ending{Source: SourceControlKill, Message: "killed by belfry kill"}
	case by == byForeground:
		return Ending{Source: SourceContainerError, Message: r.screen.failed.Error()}
	}
	name := strings.ToUpper(strings.TrimPrefix(string(by), bySignal))
	return Ending{Source: SourceCancelled, Message: fmt.Sprintf("cancelled (%s); %s", name, how)}
}
