package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/spf13/cobra"
)

// qualifyFlags are the options of a plain doctor.
type qualifyFlags struct {
	timeout, mechanism, abrupt, scratch *once
	check, must                         *once
}

func addQualify(cmd *cobra.Command) qualifyFlags {
	return qualifyFlags{
		timeout:   option(cmd, "timeout", "DURATION", "how long the scratch run may take (30s)"),
		check:     switchOption(cmd, "check-resource-controller", "also try whether limits can be enforced"),
		mechanism: option(cmd, "require-mechanism", "NAME", "job_object, cgroup_v2, process_group or process_reaper"),
		abrupt:    option(cmd, "require-abrupt-cleanup", "LEVEL", "at least whole_tree, direct_child_only or none"),
		must:      switchOption(cmd, "require-resource-controller", "limits can be enforced; needs the check"),
		scratch:   option(cmd, "scratch-child", "DURATION", "only sleep: what the scratch run runs"),
	}
}

func (f qualifyFlags) given() bool { return f.scratch.given || f.qualifies() }

// qualifies reports whether an option was given that makes sense for a scratch
// run alone.
func (f qualifyFlags) qualifies() bool {
	return f.timeout.given || f.check.given || f.mechanism.given || f.abrupt.given || f.must.given
}

func (f qualifyFlags) read() (wanted, error) {
	w := wanted{limit: 30 * time.Second, controller: f.check.given, mustControl: f.must.given}
	if f.must.given && !f.check.given {
		return w, usage("", "--require-resource-controller needs --check-resource-controller")
	}
	err := errors.Join(
		readOption(f.timeout, "timeout", value.PositiveDuration, &w.limit),
		readOption(f.scratch, "scratch-child", value.PositiveDuration, &w.scratchRunFor),
		readOption(f.mechanism, "require-mechanism", readMechanism, &w.mechanism),
		readOption(f.abrupt, "require-abrupt-cleanup", readCleanup, &w.abrupt),
	)
	if err != nil {
		return w, firstError(err)
	}
	return w, nil
}

func readMechanism(s string) (runner.Mechanism, error) {
	switch m := runner.Mechanism(s); m {
	case runner.MechanismJobObject, runner.MechanismCgroupV2, runner.MechanismProcessGroup, runner.MechanismProcessReaper:
		return m, nil
	}
	return "", errors.New("it is job_object, cgroup_v2, process_group or process_reaper")
}

func readCleanup(s string) (runner.AbruptCleanup, error) {
	if _, known := cleanups[runner.AbruptCleanup(s)]; known {
		return runner.AbruptCleanup(s), nil
	}
	return "", errors.New("it is whole_tree, direct_child_only or none")
}

// doctorPlain qualifies this machine by a run of its own.
func (a *App) doctorPlain(ctx context.Context, f qualifyFlags, asJSON bool) error {
	w, err := f.read()
	if err != nil {
		return err
	}
	if f.scratch.given {
		<-time.After(w.scratchRunFor)
		return nil
	}
	q, err := a.qualify(ctx, w)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.printLine(q)
	} else {
		err = a.printQualification(ctx, q)
	}
	if err != nil || q.Qualified {
		return err
	}
	return &failure{status: runner.ExitHostUnqualified, told: true,
		err: errors.New(strings.Join(append(q.Failures, q.Mismatches...), "; "))}
}

func (a *App) printQualification(ctx context.Context, q qualification) error {
	verdict := "qualified"
	if !q.Qualified {
		verdict = "not qualified"
	}
	if err := a.printf("%s in %s\n\n", a.screen().paint(verdict, stateColour(verdict)), value.FormatDuration(time.Duration(q.ElapsedMS)*time.Millisecond)); err != nil {
		return err
	}
	t := table{columns: make([]column, 4)}
	for _, p := range q.Phases {
		ok := "ok"
		if !p.OK {
			ok = "FAILED"
		}
		t.add(cell{p.Phase, ""}, cell{ok, stateColour(ok)}, cell{fmt.Sprintf("%d ms", p.ElapsedMS), ""}, cell{orDash(p.Detail), ""})
	}
	if err := a.printTable(&t); err != nil {
		return err
	}
	var b strings.Builder
	if r := q.Registry; r != nil {
		fmt.Fprintf(&b, "\nregistry: %s (%s)\n", shown(r.Dir), r.Protection)
	}
	if c := q.Containment; c != nil {
		fmt.Fprintf(&b, "containment: %s; when the runner is killed: %s\n", c.Mechanism, c.AbruptCleanup)
	}
	if c := q.Controller; c != nil {
		fmt.Fprintf(&b, "limits (%s): available %t, %s\n", c.Requested, c.Available, orDash(c.Detail))
	}
	for _, m := range q.Mismatches {
		fmt.Fprintf(&b, "not met: %s\n", shown(m))
	}
	if q.Diagnostics != nil {
		fmt.Fprintf(&b, "the scratch run's files are kept in %s\n", shown(*q.Diagnostics))
	}
	if err := a.printf("%s\n", b.String()); err != nil {
		return err
	}
	// The verdict is told; that no rung works is in it already.
	err := a.doctorHost(ctx, false)
	if f, ok := errors.AsType[*failure](err); ok && f.err == nil {
		return nil
	}
	return err
}
