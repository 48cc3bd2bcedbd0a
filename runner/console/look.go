package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
)

// asked bounds how many are spoken to at once.
const asked = 32

// Console looks at two registries.
type Console struct {
	Servers, Runs *registry.Registry
	// Shelf has the jobs that are over and that no server has; nil: none.
	Shelf control.Desk
}

// Source is a server, a daemon or a run.
type Source struct {
	ID      string
	Role    string          // mcp, daemon, run
	Scope   string          // of a daemon
	PID     int             // 0 where it did not answer
	Release string          // of its binary, where it answered
	Health  registry.Health // or Ended, or Waiting
	// Err is why nothing is known of its jobs.
	Err error

	entry registry.Entry
	desk  control.Desk // of what has no endpoint any more
}

// The healths of what no server has.
const (
	// Ended is a run that is over, and left what its job said.
	Ended registry.Health = "ended"
	// Waiting is a job that waits for a place, which the next server gives it.
	Waiting registry.Health = "waiting"
)

// Job is a job and whose it is.
type Job struct {
	control.Job
	Source *Source
}

// View is what there is at one moment.
type View struct {
	Jobs []Job // live ones first, then the latest
	// Silent are the sources of which nothing is known: dead servers, whose jobs
	// have ended with them, and what did not answer.
	Silent []*Source
	// Unreadable counts records that cannot be read.
	Unreadable int
}

// ErrDead: the process of a server or of a run was killed.
var ErrDead = errors.New("its process is dead")

var (
	errServerDead = fmt.Errorf("%w, and its jobs have ended with it, except detached ones", ErrDead)
	errRunDead    = fmt.Errorf("%w, and its job has ended with it", ErrDead)
)

// dead says what the death of a source means.
func (s *Source) dead() error {
	if s.Role == "run" {
		return errRunDead
	}
	return errServerDead
}

// Look asks every server and every run.
func (c Console) Look(ctx context.Context) (View, error) {
	servers, err := c.Servers.List()
	if err != nil {
		return View{}, err
	}
	runs, err := c.Runs.List()
	if err != nil {
		return View{}, err
	}
	runs.Entries = slices.DeleteFunc(runs.Entries, func(e registry.Entry) bool {
		return e.Health == registry.Stale // of runs, belfry list tells
	})
	all := append(slices.Clone(servers.Entries), runs.Entries...)
	answers := make([]*answer, len(all))
	slots := make(chan struct{}, asked)
	var wait sync.WaitGroup
	for i, e := range all {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			answers[i] = ask(ctx, e, i >= len(servers.Entries))
		})
	}
	wait.Wait()
	v := View{Unreadable: servers.Unreadable + runs.Unreadable}
	for _, a := range answers {
		v.add(a)
	}
	if c.Shelf != nil {
		v.addEnded(c.Shelf)
	}
	v.sort()
	return v, ctx.Err()
}

// settling is how long what does not answer may take to end: its endpoint closes
// a moment before it leaves the list.
const settling = 5 * time.Second

// over reports whether a source that could not be reached has ended in order.
func (s *Source) over(ctx context.Context, err error) bool {
	if !errors.Is(err, control.ErrUnreachable) {
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	if s.entry.WaitEnd(bounded) != nil {
		return false
	}
	_, gone := s.entry.Now()
	return gone
}

// answer is what one source said; nil when it has just ended.
type answer struct {
	source *Source
	jobs   []control.Job
}

func ask(ctx context.Context, e registry.Entry, run bool) *answer {
	s := &Source{ID: e.RunID, Role: e.Labels["role"], Scope: e.Labels["scope"], Health: e.Health, entry: e}
	if run {
		s.Role, s.Scope = "run", ""
	}
	switch {
	case e.Health == registry.Stale:
		s.Err = s.dead()
	case e.Health == registry.Unprobed:
		s.Err = registry.ErrUnprobed
	case e.Endpoint == "":
		s.Err = control.ErrUnreachable
	default:
		about, jobs, err := control.Jobs(ctx, e.Endpoint, e.RunID)
		if err == nil {
			s.PID, s.Release = about.PID, about.Release
			return &answer{s, jobs}
		}
		if s.over(ctx, err) {
			return nil
		}
		if h, gone := e.Now(); h == registry.Stale && !gone {
			s.Health, err = h, s.dead()
		}
		if !run || !errors.Is(err, control.ErrRefused) { // a run of an older belfry
			s.Err = err
		}
	}
	if run && s.Health == registry.Live {
		// A runner that cannot tell is still a run that is live.
		return &answer{s, []control.Job{{ID: e.RunID, State: "running", Started: registry.FormatTime(e.StartedAt)}}}
	}
	return &answer{source: s}
}

func (v *View) add(a *answer) {
	if a == nil {
		return
	}
	if a.source.Err != nil {
		v.Silent = append(v.Silent, a.source)
	}
	for _, j := range a.jobs {
		v.Jobs = append(v.Jobs, Job{j, a.source})
	}
}

// addEnded comes after the servers were asked: one that was has taken its jobs.
func (v *View) addEnded(d control.Desk) {
	for _, j := range d.Jobs() {
		health := Ended
		if j.Live() {
			health = Waiting
		}
		v.Jobs = append(v.Jobs, Job{j, &Source{ID: j.ID, Role: d.About().Role, Health: health, desk: d}})
	}
}

// sort also leaves out the run behind a job of the same id: a job that has a
// runner of its own is told once, by its server, or by what it has left.
func (v *View) sort() {
	served := map[string]bool{}
	for i := range v.Jobs {
		if !v.Jobs[i].Source.runs() {
			served[v.Jobs[i].ID] = true
		}
	}
	v.Jobs = slices.DeleteFunc(v.Jobs, func(j Job) bool { return j.Source.runs() && served[j.ID] })
	// Not by slices.SortStableFunc, which is 8 KB of code for each struct.
	sort.SliceStable(v.Jobs, func(i, j int) bool {
		a, b := &v.Jobs[i], &v.Jobs[j]
		switch live := a.Live(); {
		case live != b.Live():
			return live
		case a.Started != b.Started:
			return a.Started > b.Started
		}
		return a.ID < b.ID
	})
}

// runs reports whether a source is a run that is not over.
func (s *Source) runs() bool { return s.Role == "run" && s.desk == nil }

// AmbiguousError says that an id, or the beginning of one, names several jobs.
type AmbiguousError struct {
	ID    string
	Among []Job
}

func (e *AmbiguousError) Error() string { return "more than one job has this id, or begins with it" }

// Unwrap makes it an ambiguity of the registry.
func (e *AmbiguousError) Unwrap() error { return registry.ErrAmbiguous }

// ErrNotFound: no job and no run has this id, and none begins with it.
var ErrNotFound = errors.New("there is no such job or run")

// Find gives the job of an id, or the only one whose id begins so. The error is
// ErrNotFound or an *AmbiguousError.
func (v *View) Find(id string) (Job, error) {
	exact, begun := []Job{}, []Job{}
	for _, j := range v.Jobs {
		switch {
		case j.ID == id:
			exact = append(exact, j)
		case id != "" && strings.HasPrefix(j.ID, id):
			begun = append(begun, j)
		}
	}
	if len(exact) > 0 {
		begun = exact
	}
	switch len(begun) {
	case 0:
		return Job{}, ErrNotFound
	case 1:
		return begun[0], nil
	}
	return Job{}, &AmbiguousError{id, begun}
}

// Ended is what is left of the run of an id that has ended, the latest of them.
func (c Console) Ended(id string) (registry.Tombstone, bool) {
	all, err := c.Runs.Ended(id)
	if err != nil || len(all) == 0 {
		return registry.Tombstone{}, false
	}
	return all[0], true
}
