package detach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/sys"
)

// lookAgain is how often is looked at a journal whose supervisor lives and does
// not answer: it may be stopped.
const lookAgain = 250 * time.Millisecond

// owned is one job in the hands of this server: a job.Owned.
type owned struct {
	id, dir string
	unread  func(error) // told why it cannot be shown; nil: nobody is
}

// supervisor is what supervisor.json tells.
type supervisor struct {
	Endpoint string `json:"endpoint"`
	Version  string `json:"version"` // of belfry, for people
}

func (h *owned) ID() string { return h.id }

func (h *owned) endpoint() (string, error) {
	var s supervisor
	path := filepath.Join(h.dir, supervisorName)
	data, err := sys.ReadShared(path, maxSmall)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return "", fmt.Errorf("%s does not tell where its supervisor is reached (%w); belfry kill %s finds it by another record", path, sys.Obstacle(path, err), h.id)
	}
	return s.Endpoint, nil
}

// lives reports whether the supervisor does, as far as can be told.
func (h *owned) lives() bool { return isLocked(filepath.Join(h.dir, lockName)) }

// Follow reads the journal to its end. The watch is asked for before the journal
// is read, so that what is written meanwhile is told.
func (h *owned) Follow(ctx context.Context, to job.Replica) error {
	r := &reader{dir: h.dir, to: to}
	defer func() { r.close() }()
	readable := false
	if h.lives() {
		// What is there is shown first: one that is stopped answers nobody.
		over, err := r.drain()
		switch readable = err == nil && r.number > 0; {
		case readable:
			to.CaughtUp()
		case err != nil:
			r.close()
			r = &reader{dir: h.dir, to: to}
		}
		if over {
			return nil
		}
	}
	var watch *control.Watching
	defer func() {
		if watch != nil {
			watch.Close()
		}
	}()
	for {
		lives := watch != nil || h.lives()
		if lives && watch == nil {
			if at, err := h.endpoint(); err == nil {
				watch, _ = control.Watch(ctx, at, h.id) // else it is looked at again and again
			}
		}
		over, err := r.drain()
		if err == nil {
			readable = true
			to.CaughtUp()
		}
		switch {
		case over:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (!lives || !readable):
			if h.unread != nil {
				h.unread(err)
			}
			return err
		case err != nil:
			// It is there and cannot be read: the job goes on, and can be killed.
			r.close()
			r = &reader{dir: h.dir, to: to}
			pause(ctx)
		case !lives:
			return job.ErrLost
		case watch == nil:
			pause(ctx)
		case !next(ctx, watch):
			watch.Close()
			watch = nil
		}
	}
}

// next waits for a change; false when no more will be told.
func next(ctx context.Context, w *control.Watching) bool {
	stop := context.AfterFunc(ctx, func() { w.Close() })
	defer stop()
	return w.Next() == nil
}

func pause(ctx context.Context) {
	t := time.NewTimer(lookAgain)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Signal asks the supervisor. One that has ended meanwhile has nobody to signal.
func (h *owned) Signal(ctx context.Context, sig sys.Signal, grace time.Duration) error {
	at, err := h.endpoint()
	if err == nil {
		err = control.Signal(ctx, at, h.id, sig.String(), grace)
	} else if !h.lives() {
		return nil
	}
	if errors.Is(err, control.ErrUnreachable) && !h.lives() {
		return nil
	}
	return err
}

// Reclaim leaves a journal without output.
func (h *owned) Reclaim(record job.Snapshot, save func(io.Writer) error) {
	number, err := newest(h.dir)
	if err != nil || number == 0 {
		return
	}
	text, err := json.Marshal(record)
	if err != nil {
		return
	}
	w := &journal{dir: h.dir, save: func(to io.Writer, _ uint64) error { return save(to) }, changed: func() {}, number: number, record: text}
	// Best effort: what stays goes with the record.
	_ = w.end()
}

// Remove removes the job's folder.
func (h *owned) Remove() {
	// Best effort: what stays is removed by prune.
	_ = os.RemoveAll(h.dir)
}
