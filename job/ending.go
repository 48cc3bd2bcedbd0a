package job

import (
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// settle fixes what ends the job, once, and tells a directly started job's
// caller before anything is done about it.
func (t *teardown) settle(by EndedBy) {
	if t.cause != "" {
		return
	}
	t.cause = by
	d := t.j.direct
	if d == nil {
		return
	}
	t.facts.Before, t.facts.BeforeUnsure = t.count()
	if d.Decided != nil {
		d.Decided(by)
	}
}

// count is the number of live members now, and whether that is unsure.
func (t *teardown) count() (int, bool) {
	if closed(t.empty) {
		return 0, false
	}
	members, how := t.tree.Members()
	return len(members), how == sys.BestEffort
}

// lingering watches what the leader left behind: it may speak to its end, but
// not for long.
func (t *teardown) lingering() {
	t.lingers = time.NewTimer(t.j.direct.Linger)
	silent := make(chan struct{})
	go func() {
		for _, p := range t.j.pumps {
			<-p.eof
		}
		close(silent)
	}()
	t.silent = silent
}

// lingered is the end of that time.
func (t *teardown) lingered() <-chan time.Time {
	if t.lingers == nil {
		return nil
	}
	return t.lingers.C
}

// rest ends what still lives after that time.
func (t *teardown) rest() {
	t.silent, t.lingers = nil, nil
	if t.step == "" {
		t.kill()
	}
}

// note completes the facts of a directly started job.
func (t *teardown) note(proved bool) {
	f := t.facts
	if !t.softAt.IsZero() {
		f.Took = time.Since(t.softAt)
	}
	f.Evidence = t.tree.Evidence()
	if proved {
		return
	}
	members, how := t.tree.Members()
	f.Remaining, f.RestUnsure = members, how == sys.BestEffort
	if len(members) == 0 {
		f.Remaining = t.report.Survivors
	}
	f.KillFailed = true
}

// settled waits until the pump has read all there was; true means to the end.
// A tap that takes nothing is waited for while the job's end is its own, and
// for stallBound when it was ended; then, or once it is abandoned, it is left.
func (p *pump) settled(abandoned <-chan struct{}, stall time.Duration) bool {
	var late <-chan time.Time
	var timer *time.Timer
	if stall > 0 {
		timer = time.NewTimer(stall)
		defer timer.Stop()
		late = timer.C
	}
	for moved := p.moved.Load(); ; {
		select {
		case <-p.eof:
			return true
		case <-p.bounded:
			return false
		case <-abandoned:
			return false
		case <-late:
			now := p.moved.Load()
			if now == moved {
				return false
			}
			moved = now
			timer.Reset(stall)
		}
	}
}
