package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/sys/systest"
)

// guard bounds what should take moments; it is never a measure.
const guard = 30 * time.Second

func TestMain(m *testing.M) { systest.Main(m) }

// result is a run with what it said and wrote.
type result struct {
	Ending
	out, err bytes.Buffer
	warnings []string
	events   []map[string]any
}

// helper makes the options of a run of one of systest's helpers.
func helper(t *testing.T, name string, args ...string) Options {
	t.Helper()
	_, argv, env := systest.Command(name, args...)
	return Options{Argv: argv, Env: Environment{Base: env}, JSONL: filepath.Join(t.TempDir(), "events.jsonl"),
		Registry: registry.Open(filepath.Join(t.TempDir(), "runs"))}
}

// do runs to the end and checks what holds for every run.
func do(t *testing.T, o Options) *result {
	t.Helper()
	r := &result{}
	if o.Stdout == nil {
		o.Stdout = &r.out
	}
	o.Stderr = &r.err
	o.Warn = func(text string) { r.warnings = append(r.warnings, text) }
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	r.Ending = Run(ctx, o)
	if ctx.Err() != nil {
		t.Fatalf("the run did not end by itself: %+v", r.Ending)
	}
	r.read(t, o.JSONL)
	if o.Registry != nil {
		if left, err := o.Registry.List(); err != nil || len(left.Entries) > 0 {
			t.Errorf("the registry holds %v, %v", left, err)
		}
	}
	return r
}

// read reads the stream: every line is valid, and the last is the only end.
func (r *result) read(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		return // there is none, or it could not be made
	}
	ends := 0
	for line := range bytes.Lines(data) {
		if err := Validate(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		r.events = append(r.events, v)
		if v["event"] == string(EventRunnerExit) {
			ends++
		}
	}
	if ends != 1 || r.events[len(r.events)-1]["event"] != string(EventRunnerExit) {
		t.Errorf("the stream does not end with its only runner_exit: %v", r.names())
		return
	}
	if got := r.event(t, EventRunnerExit)["code"]; got != float64(r.Code) {
		t.Errorf("runner_exit says %v, the ending %d", got, r.Code)
	}
}

// spoke is a stream that tells when the first bytes came.
type spoke struct {
	once sync.Once
	c    chan struct{}
}

func (s *spoke) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.c) })
	return len(b), nil
}

func (r *result) names() []string {
	var out []string
	for _, e := range r.events {
		name, _ := e["event"].(string)
		out = append(out, name)
	}
	return out
}

func (r *result) event(t *testing.T, name Name) map[string]any {
	t.Helper()
	i := slices.Index(r.names(), string(name))
	if i < 0 {
		t.Fatalf("no %s in %v", name, r.names())
	}
	return r.events[i]
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (r *result) wantOrder(t *testing.T, names ...Name) {
	t.Helper()
	got := r.names()
	if !slices.EqualFunc(got, names, func(a string, b Name) bool { return a == string(b) }) {
		t.Errorf("events %v, want %v", got, names)
	}
}
