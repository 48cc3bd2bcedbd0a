package job

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// ask is a request to end a job, or to send it a signal, from one of the five
// doors: the kill tool, the runner's control, a deadline, the leader's end,
// shutdown.
type ask struct {
	by     EndedBy
	signal sys.Signal    // SIGTERM: soft stop, grace, hard kill; SIGKILL: hard at once; another: sent once
	grace  time.Duration // of the ladder
	// forward: the tree gets the signal and that is all; polite: the soft stop is
	// sent however short the grace is.
	forward, polite bool
	sent            chan error // buffered; told when the first signal was delivered or refused
}

// ladder reports whether the ask means to end the job.
func (a *ask) ladder() bool { return a.signal == sys.SIGTERM || a.signal == sys.SIGKILL }

// teardown is the one owner of a running tree: it observes the leader's end
// and the tree's, takes asks, and climbs from the soft stop to the hard kill.
// Nothing else in the house signals a process. It belongs to one goroutine.
type teardown struct {
	j     *Job
	tree  sys.Tree
	facts *Teardown // told of a directly started job

	exited, empty <-chan struct{}
	deadline      <-chan time.Time
	grace         *time.Timer
	graceEnd      time.Time
	hard          chan sys.KillReport

	cause  EndedBy    // "" until decided
	signal sys.Signal // the last one of ours that was meant to end the tree
	step   Step
	custom sys.Signal // another signal, recently sent
	until  time.Time  // how long an end is put down to custom
	named  sys.Signal // the custom signal that ended the tree
	report sys.KillReport
	softAt time.Time // when the soft stop was sent

	// Of a directly started job, between its leader's end and the kill of the rest.
	lingers *time.Timer
	silent  <-chan struct{} // closed once every output is at its end
}

// own watches the tree until it is over, then drains, records and releases.
func (j *Job) own(tree sys.Tree) {
	t := &teardown{j: j, tree: tree, exited: tree.Exited(), empty: tree.Empty(), hard: make(chan sys.KillReport, 1), facts: new(Teardown)}
	if j.direct != nil {
		t.facts = &j.direct.facts
	}
	if d := j.work.spec.Deadline; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		t.deadline = timer.C
	}
	t.grace = time.NewTimer(time.Hour)
	t.grace.Stop()
	defer t.grace.Stop()
	proved := t.watch()
	if j.direct != nil {
		t.note(proved)
	}
	j.end(t, proved)
}

// watch returns when the tree was proved empty (true) or given up (false).
func (t *teardown) watch() (proved bool) {
	for {
		select {
		case <-t.exited:
			t.leaderEnded()
		case <-t.empty:
			if t.exited != nil {
				// The leader's end is part of every proof; take it in order.
				<-t.exited
				t.leaderEnded()
			} else if t.cause == "" && t.customAt(time.Now()) && !harmless(t.custom) {
				t.settle(ByKill)
				t.named = t.custom // what the leader had left behind
			}
			return true
		case a := <-t.j.asks:
			t.take(a)
		case <-t.deadline:
			t.deadline = nil
			t.take(ask{by: ByDeadline, signal: sys.SIGTERM, grace: t.j.store.cfg.grace()})
		case <-t.grace.C:
			t.kill()
		case <-t.lingered():
			t.rest()
		case <-t.silent:
			t.rest()
		case t.report = <-t.hard:
			if t.report.Proof == sys.ProofNone && !closed(t.empty) {
				return false
			}
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// leaderEnded records the leader's end and, unless the job waits for its tree,
// ends what is left of it.
func (t *teardown) leaderEnded() {
	t.exited = nil
	ex := t.tree.Exit()
	t.facts.Exit = ex
	le := &LeaderExit{At: ex.At}
	if ex.Signal != 0 {
		le.Signal = ex.Signal.String()
	} else {
		le.Code = ptr(ex.Code)
	}
	reap := t.j.work.spec.OnExit != Wait
	if t.cause == "" && t.customAt(ex.At) && endedBy(ex, t.custom) {
		t.settle(ByKill)
		t.named = t.custom
	}
	if reap {
		t.settle(t.causeOf(ex))
	}
	t.j.update(func(r *Snapshot) { r.LeaderExit, r.Stopped = le, false })
	if closed(t.empty) {
		return
	}
	t.j.store.bus.publish(Event{EventLeader, t.j})
	switch {
	case !reap || t.step != "":
	case t.j.direct != nil:
		t.lingering()
	default:
		t.soft(sys.SIGTERM, t.j.store.cfg.grace())
	}
}

// causeOf tells what a leader's end says by itself. Who sent a SIGKILL the
// kernel tells only of its own, in the counters of the container.
func (t *teardown) causeOf(ex sys.Exit) EndedBy {
	switch {
	case ex.Signal == 0:
		return ByExit
	case ex.Signal == sys.SIGKILL && t.tree.Evidence().MemoryKills > 0:
		return ByMemory
	}
	return BySignal
}

// take serves one ask. What happened before it goes first, also what nobody has
// noticed yet: after a pause of the whole process the leader may long be over.
func (t *teardown) take(a ask) {
	if t.exited != nil && (closed(t.exited) || t.tree.Ended()) {
		<-t.exited
		t.leaderEnded()
	}
	if closed(t.empty) {
		tell(a.sent, nil) // too late to be a cause
		return
	}
	switch {
	case a.forward:
		_, err := t.tree.Signal(a.signal)
		tell(a.sent, err)
		return
	case !a.ladder():
		t.send(a)
		return
	}
	hard := a.signal == sys.SIGKILL || a.grace <= 0 && !a.polite
	t.settle(a.by)
	switch {
	case hard && t.step != StepHard:
		t.kill()
	case t.step == "":
		t.soft(sys.SIGTERM, a.grace)
	case t.step == StepSoft && time.Now().Add(a.grace).Before(t.graceEnd):
		t.arm(a.grace)
	}
	tell(a.sent, nil)
}

func tell(c chan error, err error) {
	if c != nil {
		c <- err
	}
}

// customAt reports whether an end at that time may be the custom signal's doing.
func (t *teardown) customAt(at time.Time) bool { return t.custom != 0 && at.Before(t.until) }

// endedBy tells whether a leader's end is the doing of a custom signal that was
// sent just before: it died of it, or it was asked to end by one of the signals
// that mean this. A program that handles another signal and exits has exited.
func endedBy(ex sys.Exit, sig sys.Signal) bool {
	switch sig {
	case sys.SIGINT, sys.SIGHUP, sys.SIGQUIT:
		return true
	}
	return ex.Signal == sig
}

// harmless reports whether a signal ends nobody by itself.
func harmless(sig sys.Signal) bool {
	switch sig.String() {
	case "SIGCONT", "SIGWINCH", "SIGCHLD", "SIGURG", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU":
		return true
	}
	return false
}

// send delivers a signal that is not a step of the ladder, once.
func (t *teardown) send(a ask) {
	_, err := t.tree.Signal(a.signal)
	if err == nil {
		t.custom, t.until = a.signal, time.Now().Add(signalWindow)
	}
	tell(a.sent, err)
}

// soft sends the soft stop and starts the grace. Where it cannot be delivered
// at all (no console on Windows) the hard kill follows at once.
func (t *teardown) soft(sig sys.Signal, grace time.Duration) {
	t.signal = sig
	t.enter(StepSoft)
	t.softAt = time.Now()
	_, err := t.tree.Signal(sig)
	if t.j.direct != nil {
		t.facts.Soft, t.facts.SoftErr = true, err
	}
	if err != nil {
		t.kill()
		return
	}
	t.arm(grace)
}

func (t *teardown) arm(grace time.Duration) {
	t.graceEnd = time.Now().Add(grace)
	t.grace.Reset(grace)
}

// kill sends the hard kill; its report arrives on t.hard.
func (t *teardown) kill() {
	t.grace.Stop()
	if !t.softAt.IsZero() && t.step == StepSoft && t.j.direct != nil {
		t.facts.After, t.facts.AfterUnsure = t.count()
	}
	t.facts.Escalated = true
	t.signal = sys.SIGKILL
	t.enter(StepHard)
	bound := hardBound
	if t.j.direct != nil {
		// Nobody waits for an answer meanwhile, and on a machine that is busy what
		// was killed needs its turns on the processor to end.
		bound = directBound
	}
	go func(out chan<- sys.KillReport) {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		rep, _ := t.tree.Kill(ctx) // Best effort: what it reached is in the report.
		out <- rep
	}(t.hard)
}

// enter tells the record which step is under way.
func (t *teardown) enter(step Step) {
	t.step = step
	by := t.cause
	if by == "" {
		by = ByExit
	}
	now := time.Now().UnixMilli()
	t.j.update(func(r *Snapshot) {
		if r.Ending != nil {
			now = r.Ending.Since
		}
		r.Ending = &Ending{By: by, Since: now, Step: step}
	})
	t.j.store.bus.publish(Event{EventEnding, t.j})
}

// outcome turns the cause into the terminal state.
func (t *teardown) outcome() (State, func(r *Snapshot)) {
	ex := t.tree.Exit()
	cause := t.cause
	if cause == "" {
		cause = t.causeOf(ex)
	}
	name := t.signal.String()
	if t.named != 0 {
		name = t.named.String()
	}
	switch cause {
	case ByExit:
		return Exited, func(r *Snapshot) { r.EndedBy, r.ExitCode, r.LeaderExit = cause, ptr(ex.Code), nil }
	case BySignal, ByMemory:
		return Killed, func(r *Snapshot) { r.EndedBy, r.Signal, r.LeaderExit = cause, ex.Signal.String(), nil }
	case ByDeadline:
		return Failed, func(r *Snapshot) {
			r.EndedBy, r.IdentityConfirmed = cause, ptr(true)
			r.Diagnostic = &Diagnostic{Reason: ReasonRuntime, Code: "deadline", Message: fmt.Sprintf(
				"the deadline of %v ms passed; the tree was ended with %s", milliseconds(t.j.work.spec.Deadline), name)}
		}
	}
	return Killed, func(r *Snapshot) { r.EndedBy, r.Signal, r.IdentityConfirmed = cause, name, ptr(true) }
}

// milliseconds keeps the fraction that a deadline may have.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
