package runner

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/belfry-dev/belfry/runner/registry"
)

// Waited is a run that is over.
type Waited struct {
	RunID string
	// Seen: a run of that id was found, live or ended. Without it nobody knows
	// the id any more, or nobody ever did.
	Seen bool
	// Outcome is how it ended; nil when nothing tells.
	Outcome *registry.Outcome
}

// Wait returns when no run of that id is live. It wakes when the runner lets go
// of its lock. What cannot be read or probed is no end. The error is ctx's,
// registry.ErrAmbiguous, or tells why the registry cannot be read.
func (r Remote) Wait(ctx context.Context, id string) (Waited, error) {
	w := Waited{RunID: id}
	e, err := r.Registry.Find(id)
	if errors.Is(err, registry.ErrUnprobed) && e.Path == "" {
		// It may be among the records that cannot be read.
		l, kerr := r.Registry.WaitKnown(ctx)
		if kerr != nil {
			return w, kerr
		}
		e, err = l.Find(id)
	}
	switch {
	case err == nil, errors.Is(err, registry.ErrUnprobed):
		w.Seen = true
		if err := e.WaitEnd(ctx); err != nil {
			return w, err
		}
		w.Outcome = r.outcome(e)
	case errors.Is(err, registry.ErrStale):
		w.Seen = true
		w.Outcome = r.outcome(e)
	case errors.Is(err, registry.ErrNotFound):
		ended, err := r.Registry.Ended(id)
		if err != nil {
			return w, err
		}
		if len(ended) > 0 {
			w.Seen, w.Outcome = true, &ended[0].Outcome
		}
	default:
		return w, err
	}
	return w, nil
}

// WaitAll waits for every run with these labels that is live now, in the order
// of the list.
func (r Remote) WaitAll(ctx context.Context, labels map[string]string) ([]Waited, error) {
	l, err := r.Registry.WaitKnown(ctx)
	if err != nil {
		return nil, err
	}
	out := []Waited{}
	for _, e := range l.Entries {
		if e.Health == registry.Stale || !e.Has(labels) {
			continue
		}
		// One after the other: all must be over, so the order costs nothing.
		if err := e.WaitEnd(ctx); err != nil {
			return out, err
		}
		out = append(out, Waited{RunID: e.RunID, Seen: true, Outcome: r.outcome(e)})
	}
	return out, nil
}

// outcome finds out how a run ended: by its tombstone, or by its stream when its
// runner was killed after the last line.
func (r Remote) outcome(e registry.Entry) *registry.Outcome {
	if t, ok := r.Registry.Tombstone(e); ok {
		return &t.Outcome
	}
	if e.JSONL == "" {
		return nil
	}
	x, err := ReadOutcome(e.JSONL, e.RunID)
	if err != nil {
		return nil // nothing tells
	}
	return &registry.Outcome{Code: x.Code, Source: string(x.Source), ChildCode: x.ChildCode}
}

// ErrNoStream: the run wrote no event stream, or none that can be read again.
var ErrNoStream = errors.New("the run has no event stream")

// Stream finds the event stream of the run of that id: of the live one, else of
// dead ones, else of the one that ended last. The error may be registry's
// ErrNotFound, ErrUnprobed or ErrAmbiguous, or ErrNoStream.
func (r Remote) Stream(id string) (string, error) {
	path, err := r.streamPath(id)
	if err != nil {
		return "", err
	}
	// What a pipe or a terminal was told only its reader has, and to read it here
	// would take it from that one, or wait for ever.
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return "", fmt.Errorf("%w that is kept: it was written to %s, which is no regular file", ErrNoStream, path)
	}
	return path, nil
}

func (r Remote) streamPath(id string) (string, error) {
	l, err := r.Registry.List()
	if err != nil {
		return "", err
	}
	e, err := l.Find(id)
	switch {
	case err == nil, e.Path != "":
		return streamOf(l, e)
	case !errors.Is(err, registry.ErrNotFound) && !errors.Is(err, registry.ErrUnprobed):
		return "", err
	}
	ended, terr := r.Registry.Ended(id)
	switch {
	case terr != nil:
		return "", terr
	case len(ended) == 0:
		return "", err
	case ended[0].JSONL == "":
		return "", ErrNoStream
	}
	return ended[0].JSONL, nil
}

// streamOf is the stream of an entry, which must be that of all with its id and
// health.
func streamOf(l registry.Listing, e registry.Entry) (string, error) {
	for _, other := range l.Entries {
		if other.RunID == e.RunID && other.Health == e.Health && other.JSONL != e.JSONL {
			return "", fmt.Errorf("%w, with streams of their own", registry.ErrAmbiguous)
		}
	}
	if e.JSONL == "" {
		return "", ErrNoStream
	}
	return e.JSONL, nil
}
