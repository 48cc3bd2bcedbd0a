package detach

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/sys"
)

func orderOf(n int) *job.Order {
	return &job.Order{ID: jobID(n), Label: "waits", Command: "true", Created: time.Now().Add(time.Duration(n) * time.Second),
		Path: "/bin/true", Argv: []string{"true"}, Env: []string{"A=b"}, AllowWeaker: true}
}

func keep(t *testing.T, p *Place, ns ...int) {
	t.Helper()
	for _, n := range ns {
		if err := p.Keep(orderOf(n)); err != nil {
			t.Fatal(err)
		}
	}
}

func ids(orders []*job.Order) (out []string) {
	for _, o := range orders {
		out = append(out, o.ID)
	}
	slices.Sort(out)
	return out
}

// What waits is one server's, and the next one's when that is gone; what was
// forgotten, and what a supervisor has begun, is nobody's.
func TestWaiting(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	a, b := open(state), open(state)
	keep(t, a, 1, 2, 3, 4)
	a.Forget(jobID(2))
	begun, err := sys.CreateLock(filepath.Join(a.dir, jobID(3), lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer begun.Close()
	if got := append(b.Waiting(""), a.Waiting("")...); got != nil {
		t.Errorf("a living server's: %v", got)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.Waiting(jobID(4)); len(got) != 1 || got[0].Path != "/bin/true" || got[0].Env[0] != "A=b" {
		t.Errorf("%+v", got)
	}
	if got := b.Waiting(""); !slices.Equal(ids(got), []string{jobID(1)}) {
		t.Errorf("%+v", got)
	}
	if got := b.Adopt(""); got != nil {
		t.Errorf("there is nothing to read of it: %v", got)
	}
	if dir, err := b.folderOf(orderOf(4)); err != nil || dir != filepath.Join(b.dir, jobID(4)) {
		t.Errorf("%s, %v", dir, err)
	}
	// A server that is killed just before it starts a supervisor.
	if _, err := b.folderOf(orderOf(5)); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	c := open(state)
	if got := c.Waiting(""); !slices.Equal(ids(got), []string{jobID(1), jobID(4), jobID(5)}) {
		t.Errorf("%+v", got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// A supervisor that comes second leaves the job to the first.
func TestSecondSupervisor(t *testing.T) {
	dir := t.TempDir()
	first, err := lockFor(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"lives", "has ended"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := Supervise(t.Context(), t.Context(), dir, w, Options{}); !errors.Is(err, errTaken) {
			t.Errorf("the first %s: %v", what, err)
		}
		line := make([]byte, 1<<10)
		n, _ := r.Read(line)
		if !strings.Contains(string(line[:n]), `"taken":true`) {
			t.Errorf("the first %s: %s", what, line[:n])
		}
		r.Close()
		first.Close()
	}
}

// Damage to what waits is told, and others are not kept from their turn.
func TestWaitingDamaged(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	a := open(state)
	keep(t, a, 1, 2, 3)
	for n, text := range map[int]string{1: "{", 2: `{"ID":"` + jobID(3) + `"}`} {
		if err := os.WriteFile(filepath.Join(a.dir, jobID(n), orderName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b, told := warned(state)
	if got := b.Waiting(""); !slices.Equal(ids(got), []string{jobID(3)}) {
		t.Errorf("%+v", got)
	}
	if len(*told) != 2 || !strings.Contains(strings.Join(*told, ""), filepath.Join(b.dir, jobID(1), orderName)) {
		t.Errorf("%q", *told)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// Who looks while no server has them sees what waits, and may take it away; it is
// kept as long as a transcript is.
func TestWaitingOnShelf(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	a := open(state)
	keep(t, a, 1, 2)
	shelf := Shelf{State: state}
	if got := shelf.Jobs(); got != nil {
		t.Errorf("a living server's: %+v", got)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if got := (Shelf{State: state, Live: true}).Jobs(); len(got) != 2 {
		t.Errorf("among the live: %+v", got)
	}
	for _, j := range shelf.Jobs() {
		if !j.Live() || j.State != "starting" || j.Label != "waits" || j.Command != "true" || j.Started == "" {
			t.Errorf("%+v", j)
		}
	}
	said := func(control.Said) error { t.Error("it has said something"); return nil }
	if j, err := shelf.Logs(t.Context(), control.LogsQuery{ID: jobID(1)}, said); err != nil || j.ID != jobID(1) {
		t.Errorf("%+v, %v", j, err)
	}
	accepted := 0
	j, err := shelf.Stop(context.Background(), control.StopOrder{ID: jobID(1)}, func() error { accepted++; return nil })
	if err != nil || accepted != 1 || j.State != "killed" || j.Signal != job.QueueCancelled || j.EndedBy != string(job.ByQueueCancelled) {
		t.Errorf("%+v, %v, accepted %d times", j, err, accepted)
	}
	if got := shelf.Jobs(); len(got) != 1 || got[0].ID != jobID(2) {
		t.Errorf("%+v", got)
	}
	if done, err := prune(state, time.Now(), time.Hour, maxBytes); err != nil || done.Jobs != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if done, err := prune(state, time.Now().Add(2*time.Hour), time.Hour, maxBytes); err != nil || done.Jobs != 1 {
		t.Errorf("%+v, %v", done, err)
	}
}
