package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
)

const (
	// settling is how long a run that does not answer may take to end: its
	// endpoint closes a moment before it leaves the list.
	settling = 5 * time.Second
	// asked bounds how many runs are spoken to at once.
	asked = 32
)

// Remote speaks with the live runs of a registry. Its errors are those of
// registry and control.
type Remote struct{ Registry *registry.Registry }

// Inspect asks the one live run of that id what it is now.
func (r Remote) Inspect(ctx context.Context, id string) (control.Snapshot, error) {
	return reach(ctx, r, id, inspectRun)
}

// Attest asks the one live run of that id whether this process is in its tree.
func (r Remote) Attest(ctx context.Context, id string) (control.Attestation, error) {
	return reach(ctx, r, id, func(ctx context.Context, e registry.Entry) (control.Attestation, error) {
		return control.Attest(ctx, e.Endpoint, id)
	})
}

// End asks the one live run of that id to end: gracefully, or with hard at
// once. It returns when the run said that it will, or what the run said.
func (r Remote) End(ctx context.Context, id string, hard bool) (control.Ack, error) {
	return reach(ctx, r, id, func(ctx context.Context, e registry.Entry) (control.Ack, error) {
		// The id is looked up once more when the connection stands: it names
		// the run that is connected to, and no other.
		return endRun(ctx, e, hard, func() error {
			now, err := r.Registry.Find(id)
			if err == nil && now.Path != e.Path {
				err = fmt.Errorf("%w: another run took its place", registry.ErrNotFound)
			}
			return err
		})
	})
}

func inspectRun(ctx context.Context, e registry.Entry) (control.Snapshot, error) {
	return control.Inspect(ctx, e.Endpoint, e.RunID)
}

func endRun(ctx context.Context, e registry.Entry, hard bool, sure func() error) (control.Ack, error) {
	if hard {
		return control.Kill(ctx, e.Endpoint, e.RunID, sure)
	}
	return control.Cancel(ctx, e.Endpoint, e.RunID, sure)
}

func reach[T any](ctx context.Context, r Remote, id string, call func(context.Context, registry.Entry) (T, error)) (T, error) {
	var none T
	e, err := r.Registry.Find(id)
	if err != nil {
		return none, err
	}
	v, over, err := speak(ctx, e, call)
	if over {
		return none, fmt.Errorf("%w: it has just ended", registry.ErrNotFound)
	}
	return v, err
}

// speak has one conversation with a run. over: there was none, because the run
// has ended meanwhile.
func speak[T any](ctx context.Context, e registry.Entry, call func(context.Context, registry.Entry) (T, error)) (v T, over bool, err error) {
	if e.Endpoint == "" {
		return v, false, fmt.Errorf("%w: it has no control endpoint", control.ErrUnreachable)
	}
	v, err = call(ctx, e)
	if err == nil || !errors.Is(err, control.ErrUnreachable) {
		return v, false, err
	}
	bounded, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	if e.WaitEnd(bounded) == nil {
		return v, true, nil
	}
	v, err = call(ctx, e)
	return v, false, err
}

// Word is how one of many runs was reached.
type Word string

// The words. Reached is told as inspected or accepted.
const (
	Reached     Word = "reached"
	AlreadyGone Word = "already_gone"
	Failed      Word = "failed"
)

// Each is what one of many runs said.
type Each[T any] struct {
	RunID string
	Word  Word
	Value T     // with Reached
	Err   error // with Failed
}

// InspectAll asks every live run with these labels, at once, in the order of the
// list. A run of which nobody knows whether it lives is a failed one. Beside what
// the others said the error is registry.ErrUnprobed where records cannot be read,
// so that there may be more runs.
func (r Remote) InspectAll(ctx context.Context, labels map[string]string) ([]Each[control.Snapshot], error) {
	return all(ctx, r, labels, inspectRun)
}

// EndAll asks every live run with these labels to end. Its error is as that of
// InspectAll.
func (r Remote) EndAll(ctx context.Context, labels map[string]string, hard bool) ([]Each[control.Ack], error) {
	return all(ctx, r, labels, func(ctx context.Context, e registry.Entry) (control.Ack, error) {
		return endRun(ctx, e, hard, func() error {
			if h, gone := e.Now(); gone || h != registry.Live {
				return registry.ErrNotFound
			}
			return nil
		})
	})
}

func all[T any](ctx context.Context, r Remote, labels map[string]string, call func(context.Context, registry.Entry) (T, error)) ([]Each[T], error) {
	l, err := r.Registry.List()
	if err != nil {
		return nil, err
	}
	var runs []registry.Entry
	for _, e := range l.Entries {
		if e.Health != registry.Stale && e.Has(labels) {
			runs = append(runs, e)
		}
	}
	out := make([]Each[T], len(runs))
	slots := make(chan struct{}, asked)
	var wait sync.WaitGroup
	for i, e := range runs {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			out[i] = one(ctx, e, call)
		})
	}
	wait.Wait()
	return out, l.Unsure()
}

func one[T any](ctx context.Context, e registry.Entry, call func(context.Context, registry.Entry) (T, error)) Each[T] {
	x := Each[T]{RunID: e.RunID, Word: Failed}
	if e.Health == registry.Unprobed {
		x.Err = registry.ErrUnprobed
		return x
	}
	v, over, err := speak(ctx, e, call)
	switch {
	case over, errors.Is(err, registry.ErrNotFound):
		x.Word = AlreadyGone
	case err != nil:
		x.Err = err
	default:
		x.Word, x.Value = Reached, v
	}
	return x
}
