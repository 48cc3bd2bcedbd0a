package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
)

// puppet is a listed run with an endpoint and no program.
type puppet struct {
	t      *testing.T
	server *control.Server
	record *registry.Published
	ends   atomic.Int32
}

func (p *puppet) Snapshot() control.Snapshot { return control.Snapshot{Mechanism: "unknown"} }
func (p *puppet) Contains(int) (bool, error) { return false, nil }
func (p *puppet) Signal(context.Context, string, *time.Duration) error {
	return errors.New("it has no tree")
}
func (p *puppet) Cancel() { p.ends.Add(1) }
func (p *puppet) Kill()   { p.ends.Add(1) }

func show(t *testing.T, r Remote, id, stream string) *puppet {
	t.Helper()
	p := &puppet{t: t}
	var err error
	if p.server, err = control.Listen(id, p, nil); err != nil {
		t.Fatal(err)
	}
	p.record, err = r.Registry.Publish(registry.Record{RunID: id, StartedAt: time.Now(), Endpoint: p.server.Endpoint(), JSONL: stream})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.hide)
	return p
}

// hide ends the run in order; again it does nothing.
func (p *puppet) hide() {
	if p.record == nil {
		return
	}
	if err := errors.Join(p.server.Close(), p.record.Remove(registry.Outcome{Code: 7, Source: "child_exit"})); err != nil {
		p.t.Error(err)
	}
	p.record = nil
}

func freshRemote(t *testing.T) Remote {
	t.Helper()
	r := registry.Open(filepath.Join(t.TempDir(), "runs"))
	if err := r.Prepare(); err != nil {
		t.Fatal(err)
	}
	return Remote{r}
}

// dead leaves the files of a run whose runner was killed.
func dead(t *testing.T, r Remote, id, stream string) {
	t.Helper()
	text := `{"registry_version":1,"run_id":"` + id + `","started_at":"2026-01-02T03:04:05.678Z","jsonl":"` + filepath.ToSlash(stream) +
		`","liveness":{"kind":"advisory_lock","lock_file":"run-` + id + `.lock"}}`
	for name, data := range map[string]string{".json": text, ".lock": ""} {
		if err := os.WriteFile(filepath.Join(r.Registry.Dir(), "run-"+id+name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRemote(t *testing.T) {
	r := freshRemote(t)
	a := show(t, r, "a", "")
	b := show(t, r, "b", "")
	if s, err := r.Inspect(t.Context(), "a"); err != nil || s.RunID != "a" {
		t.Errorf("%+v %v", s, err)
	}
	if ack, err := r.End(t.Context(), "a", true); err != nil || ack.Action != "kill" {
		t.Errorf("%+v %v", ack, err)
	}
	all, err := r.EndAll(t.Context(), nil, false)
	if err != nil || len(all) != 2 || all[0].RunID != "a" || all[0].Word != Reached || all[1].Value.Action != "cancel" {
		t.Errorf("%+v %v", all, err)
	}
	if all, err := r.InspectAll(t.Context(), map[string]string{"k": "v"}); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
	a.hide()
	b.hide()
	if a.ends.Load() != 2 || b.ends.Load() != 1 {
		t.Errorf("%d and %d", a.ends.Load(), b.ends.Load())
	}
	if _, err := r.Inspect(t.Context(), "a"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// Where a record cannot be read there may be a run that was not spoken to.
func TestMaybeMoreRuns(t *testing.T) {
	r := freshRemote(t)
	show(t, r, "a", "")
	// Nobody reads through a link, whoever he is.
	if err := os.Symlink(os.DevNull, filepath.Join(r.Registry.Dir(), "run-x.json")); err != nil {
		t.Skip(err)
	}
	for range 2 {
		all, err := r.EndAll(t.Context(), nil, false)
		if !errors.Is(err, registry.ErrUnprobed) || !strings.Contains(err.Error(), "a record in "+r.Registry.Dir()) || len(all) != 1 || all[0].Word != Reached {
			t.Errorf("%+v, %v", all, err)
		}
	}
	if _, err := r.Inspect(t.Context(), "b"); !errors.Is(err, registry.ErrUnprobed) {
		t.Errorf("%v", err)
	}
}

// A run whose endpoint is closed and whose record is not removed yet is about
// to end, and not out of reach.
func TestAskedWhileEnding(t *testing.T) {
	r := freshRemote(t)
	p := show(t, r, "a", "")
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	results := make(chan error, 2)
	go func() { _, err := r.Inspect(t.Context(), "a"); results <- err }()
	go func() {
		all, err := r.EndAll(t.Context(), nil, false)
		// The list may have been read after the end.
		if err == nil && len(all) == 1 && all[0].Word != AlreadyGone {
			err = errors.New(string(all[0].Word))
		}
		if err == nil {
			err = registry.ErrNotFound
		}
		results <- err
	}()
	p.hide()
	for range 2 {
		if err := <-results; !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
}

func TestOutOfReach(t *testing.T) {
	t.Parallel() // it waits for an end that does not come
	r := freshRemote(t)
	p := show(t, r, "a", "")
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	// The runner lives on and does not answer: that is told, after a while.
	if _, err := r.Inspect(t.Context(), "a"); !errors.Is(err, control.ErrUnreachable) {
		t.Errorf("%v", err)
	}
	rec, err := r.Registry.Publish(registry.Record{RunID: "mute", StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.End(t.Context(), "mute", true); !errors.Is(err, control.ErrUnreachable) || !strings.Contains(err.Error(), "no control endpoint") {
		t.Errorf("%v", err)
	}
	if err := rec.Remove(registry.Outcome{}); err != nil {
		t.Error(err)
	}
}

func TestWaitOutcomes(t *testing.T) {
	r := freshRemote(t)
	dir := t.TempDir()
	p := show(t, r, "a", "")
	if w, err := r.Wait(t.Context(), "never"); err != nil || w.Seen || w.Outcome != nil {
		t.Errorf("%+v %v", w, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.Wait(short, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	waited := make(chan Waited)
	go func() { w, _ := r.Wait(t.Context(), "a"); waited <- w }()
	p.hide()
	if w := <-waited; w.Outcome == nil || w.Outcome.Code != 7 {
		t.Errorf("%+v", w)
	}

	// A runner that was killed after its last line: the stream tells.
	stream := filepath.Join(dir, "ev")
	if err := os.WriteFile(stream, written(t, "late", 0), 0o600); err != nil {
		t.Fatal(err)
	}
	dead(t, r, "late", stream)
	dead(t, r, "other", stream) // the stream of another run
	for id, known := range map[string]bool{"late": true, "other": false} {
		w, err := r.Wait(t.Context(), id)
		if err != nil || !w.Seen || (w.Outcome != nil) != known {
			t.Errorf("%s: %+v %v", id, w, err)
		}
	}
	show(t, r, "twin", "")
	show(t, r, "twin", "")
	if _, err := r.Wait(t.Context(), "twin"); !errors.Is(err, registry.ErrAmbiguous) {
		t.Errorf("%v", err)
	}
	if _, err := r.WaitAll(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestStream(t *testing.T) {
	r := freshRemote(t)
	show(t, r, "live", "/ev/live")
	dead(t, r, "live", "/ev/dead")
	dead(t, r, "dead", "/ev/dead")
	show(t, r, "none", "")
	show(t, r, "ended", "/ev/first").hide()
	show(t, r, "twin", "/ev/1")
	show(t, r, "twin", "/ev/2")
	for id, want := range map[string]string{"live": "/ev/live", "dead": "/ev/dead", "ended": "/ev/first"} {
		if got, err := r.Stream(id); err != nil || got != want {
			t.Errorf("%s: %q %v", id, got, err)
		}
	}
	for id, want := range map[string]error{"none": ErrNoStream, "never": registry.ErrNotFound, "twin": registry.ErrAmbiguous} {
		if got, err := r.Stream(id); !errors.Is(err, want) {
			t.Errorf("%s: %q %v", id, got, err)
		}
	}
}
