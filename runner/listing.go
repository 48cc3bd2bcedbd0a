package runner

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/sys"
)

// listing makes a run visible and controllable before its command begins, so
// that a command that asks about its own run finds it. It is all best effort: a
// run goes on unlisted.
type listing struct {
	record *registry.Published
	server *control.Server
}

// announce lists the run.
func (r *run) announce() {
	if r.o.Registry == nil {
		return
	}
	if err := r.list(); err != nil {
		r.warn("the run is not listed: %v", err)
	}
}

func (r *run) list() error {
	if err := r.o.Registry.Prepare(); err != nil {
		return err
	}
	rec := registry.Record{RunID: r.id, StartedAt: r.began, ArgvSHA256: Fingerprint(r.o.Argv),
		Hint: hintOf(r.o.Argv), Labels: r.o.Labels, JSONL: r.jsonl}
	if r.capture != nil {
		rec.CaptureDir = filepath.Dir(r.capture.stdout.path)
	}
	server, err := control.Listen(r.id, controlled{r}, counter{r})
	if err != nil {
		r.warn("the run cannot be controlled: %v", err)
	} else {
		r.listing.server = server
		rec.Endpoint = server.Endpoint()
	}
	record, err := r.o.Registry.Publish(rec)
	if err != nil {
		if server != nil {
			server.Close() // Best effort: nobody knows of it.
			r.listing.server = nil
		}
		return err
	}
	r.listing.record = record
	return nil
}

// hangUp ends the conversation with others; the run's last line is written.
func (l *listing) hangUp(r *run) {
	if l.server != nil {
		if err := l.server.Close(); err != nil {
			r.warn("close the control endpoint: %v", err)
		}
	}
}

// remove takes the run off the list, of which nobody can ask any more.
func (l *listing) remove(r *run, e Ending) {
	if l.record != nil {
		out := registry.Outcome{Code: e.Code, Source: string(e.Source), ChildCode: e.ChildCode}
		if err := l.record.Remove(out); err != nil {
			r.warn("take the run off the list: %v", err)
		}
	}
}

// controlled is the run as its control endpoint sees it.
type controlled struct{ r *run }

// Snapshot tells the run as it is now.
func (c controlled) Snapshot() control.Snapshot {
	r := c.r
	<-r.started // which may be under way: the command itself may ask
	s := Inspect(r.job, r.began)
	if r.jsonl != "" {
		s.JSONL = &r.jsonl
	}
	if r.capture != nil {
		dir := filepath.Dir(r.capture.stdout.path)
		s.CaptureDir = &dir
	}
	return s
}

// Inspect tells a job as its control endpoint does; nil is one that was not
// started.
func Inspect(j *job.Job, began time.Time) control.Snapshot {
	s := control.Snapshot{Mechanism: string(MechanismUnknown), StartedAt: FormatTime(began), Members: []control.Member{}}
	if j == nil {
		return s
	}
	snap := j.Snapshot()
	if snap.Identity != nil {
		s.RootPID = &snap.Identity.PID
	}
	if snap.Guarantee != nil {
		s.Mechanism = string(mechanismOf(snap.Guarantee.Mechanism))
	}
	members, _ := j.Members()
	s.Members = controlMembers(members)
	return s
}

// Contains asks the kernel who is in the tree.
func (c controlled) Contains(pid int) (bool, error) {
	<-c.r.started
	if c.r.job == nil {
		return false, nil
	}
	return Contains(c.r.job, pid), nil
}

// Contains reports whether a process is a member of a job's tree, by the kernel's
// account.
func Contains(j *job.Job, pid int) bool {
	members, _ := j.Members()
	return slices.ContainsFunc(members, func(m sys.Member) bool { return m.ID.PID == pid })
}

// Cancel and Kill wait for the start, which may be under way.
func (c controlled) Cancel() { go c.r.end(byControlCancel, false) }

// Kill is the hard end.
func (c controlled) Kill() { go c.r.end(byControlKill, true) }

// Signal is the end that was asked for, or one signal and nothing else.
func (c controlled) Signal(_ context.Context, name string, grace *time.Duration) error {
	sig, err := sys.ParseSignal(name)
	if err != nil {
		return err
	}
	<-c.r.started
	switch {
	case c.r.job == nil:
		return errors.New("nothing was started")
	case sig == sys.SIGKILL:
		c.r.job.End(byControlKill, 0, true)
	case sig == sys.SIGTERM:
		if grace == nil {
			own := c.r.grace(byControlCancel)
			grace = &own
		}
		c.r.job.End(byControlCancel, *grace, false)
	default:
		return c.r.job.Forward(sig)
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
