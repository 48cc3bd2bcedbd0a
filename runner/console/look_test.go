package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	// serve DIR ROLE ID JOB... is a server with these jobs, until its input ends.
	systest.Register("serve", func(args []string) int {
		p, err := open(registry.OpenServers(args[0]), args[1], args[2], shelf(args[3:]))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Fprintln(os.Stdout, "ready")
		io.Copy(io.Discard, os.Stdin)
		if err := p(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	})
}

func TestMain(m *testing.M) { systest.Main(m) }

// shelf is a desk with jobs of these ids, those with a "." ended.
type shelf []string

func (s shelf) About() control.About { return control.About{Role: "mcp", PID: os.Getpid()} }
func (s shelf) Jobs() (out []control.Job) {
	for i, id := range s {
		j := control.Job{ID: strings.TrimSuffix(id, "."), State: "running", Started: fmt.Sprintf("2026-01-02T03:04:%02d.000Z", i)}
		if strings.HasSuffix(id, ".") {
			j.State = "exited"
		}
		out = append(out, j)
	}
	return out
}
func (s shelf) Logs(_ context.Context, q control.LogsQuery, tell func(control.Said) error) (control.Job, error) {
	return control.Job{ID: q.ID}, tell(control.Said{Stream: "stdout", Text: "of " + q.ID})
}
func (s shelf) Stop(_ context.Context, o control.StopOrder, accepted func() error) (control.Job, error) {
	return control.Job{ID: o.ID, State: "killed"}, accepted()
}

// open lists a server or a run; end takes it off the list.
func open(r *registry.Registry, role, id string, d control.Desk) (end func() error, err error) {
	if err := r.Prepare(); err != nil {
		return nil, err
	}
	s, err := control.Listen(id, nil, d)
	if err != nil {
		return nil, err
	}
	p, err := r.Publish(registry.Record{RunID: id, Endpoint: s.Endpoint(), StartedAt: time.Now(), Labels: map[string]string{"role": role}})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return func() error { return errors.Join(s.Close(), p.Withdraw()) }, nil
}

func fresh(t *testing.T) Console {
	t.Helper()
	systest.SkipUnderWine(t, "a pipe's first instance, which go-winio never serves, takes a client that comes early")
	dir := t.TempDir()
	return Console{Servers: registry.OpenServers(filepath.Join(dir, "servers")), Runs: registry.Open(filepath.Join(dir, "runs"))}
}

func here(t *testing.T, r *registry.Registry, role, id string, jobs ...string) {
	t.Helper()
	end, err := open(r, role, id, shelf(jobs))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

func look(t *testing.T, c Console) View {
	t.Helper()
	v, err := c.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func ids(v View) string {
	var all []string
	for _, j := range v.Jobs {
		all = append(all, j.ID+"@"+j.Source.ID)
	}
	return strings.Join(all, " ")
}

// What has ended and nobody has is seen beside the others, once, and no server
// is asked for it.
func TestShelf(t *testing.T) {
	c := fresh(t)
	here(t, c.Servers, "mcp", "s1", "aa1", "ab2.")
	here(t, c.Runs, "run", "ac3", "ac3")
	c.Shelf = shelf{"ab2.", "ac3.", "ad4."}
	v := look(t, c)
	for id, want := range map[string]registry.Health{"aa1": registry.Live, "ac3": Ended, "ad4": Ended} {
		if j, err := v.Find(id); err != nil || j.Source.Health != want {
			t.Errorf("%s: %+v %v", id, j.Source, err)
		}
	}
	j, err := v.Find("ad")
	if err != nil || j.Live() {
		t.Fatalf("%+v %v", j, err)
	}
	var said []string
	if _, err := j.Logs(t.Context(), control.LogsQuery{Follow: true}, func(x control.Said) error {
		said = append(said, x.Text)
		return nil
	}); err != nil || len(said) != 1 || said[0] != "of ad4" {
		t.Errorf("%v %v", said, err)
	}
	told := 0
	if end, err := j.Stop(t.Context(), control.StopOrder{}, func() { told++ }); err != nil || end.ID != "ad4" || told != 1 {
		t.Errorf("%+v %v, told %d times", end, err, told)
	}
}

func TestLook(t *testing.T) {
	c := fresh(t)
	if v := look(t, c); len(v.Jobs)+len(v.Silent) != 0 {
		t.Errorf("nothing: %+v", v)
	}
	here(t, c.Servers, "mcp", "one", "abc.", "abd", "same")
	here(t, c.Servers, "daemon", "two", "xyz")
	here(t, c.Runs, "", "nightly", "nightly")
	here(t, c.Runs, "", "same", "same") // the runner of a job that a server tells of
	v := look(t, c)
	if got := ids(v); got != "same@one abd@one nightly@nightly xyz@two abc@one" || len(v.Silent) != 0 {
		t.Errorf("%s %+v", got, v.Silent)
	}
	for id, want := range map[string]string{"abc": "abc", "x": "xyz", "night": "nightly", "same": "same"} {
		if j, err := v.Find(id); err != nil || j.ID != want {
			t.Errorf("%s: %s %v", id, j.ID, err)
		}
	}
	_, err := v.Find("ab")
	if many, ok := errors.AsType[*AmbiguousError](err); !ok || len(many.Among) != 2 || !errors.Is(err, registry.ErrAmbiguous) {
		t.Errorf("ab: %v", err)
	}
	for _, id := range []string{"", "abcd", "q"} {
		if _, err := v.Find(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	j, _ := v.Find("xyz")
	var said string
	if _, err := j.Logs(t.Context(), control.LogsQuery{}, func(x control.Said) error { said = x.Text; return nil }); err != nil || said != "of xyz" {
		t.Errorf("%q %v", said, err)
	}
	accepted := false
	if end, err := j.Stop(t.Context(), control.StopOrder{}, func() { accepted = true }); err != nil || !accepted || end.State != "killed" {
		t.Errorf("%+v %v", end, err)
	}
}

// A run whose runner has no desk is a run all the same.
func TestOldRunner(t *testing.T) {
	c := fresh(t)
	end, err := open(c.Runs, "", "old", nil)
	if err != nil {
		t.Fatal(err)
	}
	v := look(t, c)
	if got := ids(v); got != "old@old" || len(v.Silent) != 0 || !v.Jobs[0].Live() {
		t.Errorf("%s %+v", got, v.Silent)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if _, err := v.Jobs[0].Stop(t.Context(), control.StopOrder{}, func() {}); !errors.Is(err, ErrGone) {
		t.Errorf("after its end: %v", err)
	}
}

// A server that was killed is known as dead at once, also by those who have
// found it before.
func TestKilledServer(t *testing.T) {
	c := fresh(t)
	path, argv, env := systest.Command("serve", c.Servers.Dir(), "mcp", "one", "abc")
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Args, cmd.Env, cmd.Stderr = argv, env, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	before := look(t, c)
	if got := ids(before); got != "abc@one" {
		t.Fatal(got)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := before.Jobs[0].Stop(t.Context(), control.StopOrder{}, func() {}); !errors.Is(err, ErrDead) {
		t.Errorf("stop: %v", err)
	}
	v := look(t, c)
	if len(v.Jobs) != 0 || len(v.Silent) != 1 || !errors.Is(v.Silent[0].Err, ErrDead) || v.Silent[0].Health != registry.Stale || v.Silent[0].Role != "mcp" {
		t.Errorf("%+v %+v", v.Jobs, v.Silent)
	}
	if p, err := c.Servers.Prune(registry.PruneOptions{Before: time.Now().Add(-time.Hour)}); err != nil || p.Pruned != 0 {
		t.Errorf("too young to be forgotten: %+v %v", p, err)
	}
	if p, err := c.Servers.Prune(registry.PruneOptions{}); err != nil || p.Pruned != 1 {
		t.Errorf("%+v %v", p, err)
	}
	if v := look(t, c); len(v.Silent) != 0 {
		t.Errorf("%+v", v.Silent)
	}
}
