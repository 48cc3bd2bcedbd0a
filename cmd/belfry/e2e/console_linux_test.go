package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests look at what runs as a person does: with belfry jobs, logs and
// stop, across servers, the shared one and runs.

// person is somebody at a terminal.
type person struct {
	t      *testing.T
	exe    string
	env    []string
	change func(*exec.Cmd)
}

// seen is a line of belfry jobs --json.
type seen struct {
	JobID  string `json:"job_id"`
	State  string
	Label  string
	Signal string
	Server struct{ ID, Role, Health string }
	Error  string
}

// personOf is the one for whom a server runs.
func personOf(t *testing.T, s *server) person {
	return person{t: t, exe: s.exe, env: s.command(setup{}).Env}
}

// says runs a verb and gives its status and what it printed.
func (p person) says(args ...string) (status int, stdout, stderr string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.exe, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &out, &errs
	if p.change != nil {
		p.change(cmd)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// does is says of a verb that must succeed.
func (p person) does(args ...string) string {
	p.t.Helper()
	status, out, errs := p.says(args...)
	if status != 0 {
		p.t.Fatalf("belfry %s ended with status %d: %s%s", strings.Join(args, " "), status, out, errs)
	}
	return out
}

// jobs is what belfry jobs tells.
func (p person) jobs() map[string]seen {
	p.t.Helper()
	all := map[string]seen{}
	for line := range strings.Lines(p.does("jobs", "--json")) {
		var one seen
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		if one.JobID == "" {
			one.JobID = one.Server.ID
		}
		all[one.JobID] = one
	}
	return all
}

// until looks again and again, as nothing tells when a server has listed itself.
func (p person) until(what string, ok func(map[string]seen) bool) map[string]seen {
	p.t.Helper()
	for end := time.Now().Add(guard); ; <-time.After(20 * time.Millisecond) {
		all := p.jobs()
		if ok(all) {
			return all
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s: never seen; jobs: %+v", what, all)
		}
	}
}

func TestPersonSeesAndStopsAll(t *testing.T) {
	t.Parallel()
	a := serve(t, setup{})
	env := map[string]string{"BELFRY_RUNTIME_DIR": a.path("run")}
	b := serve(t, setup{env: env})
	c := serve(t, setup{env: env, change: func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, "--shared") }})
	me := personOf(t, a)
	t.Cleanup(func() { me.does("daemon", "stop") })

	ofA := a.ready(shell("echo ready; echo aside >&2; exec sleep 300"), args{"label": "of a"})
	ofB := b.ready(shell("trap '' TERM; echo ready; while :; do sleep 1; done"))
	ofC := c.ready(shell("echo ready; exec sleep 300"))
	me.does("run", "--detach", "--run-id", "of a person", "--", "sleep", "300")
	all := me.until("all four", func(all map[string]seen) bool { return len(all) == 4 })
	for id, role := range map[string]string{ofA.JobID: "mcp", ofB.JobID: "mcp", ofC.JobID: "daemon", "of a person": "run"} {
		if got := all[id]; got.State != "running" || got.Server.Role != role {
			t.Errorf("%s: %+v, want role %s", id, got, role)
		}
	}

	status, out, errs := me.says("logs", ofA.JobID[:13])
	if status != 0 || out != "ready\n" || errs != "aside\n" {
		t.Errorf("logs: %d %q %q", status, out, errs)
	}
	followed := make(chan string)
	go func() {
		_, out, _ := me.says("logs", "-f", ofA.JobID)
		followed <- out
	}()

	// Each is stopped by whoever runs it, and its agent sees that.
	me.does("stop", ofA.JobID[:13], "of a")
	if out := <-followed; out != "ready\n" {
		t.Errorf("followed: %q", out)
	}
	if r := a.end(ofA.JobID); r.State != "killed" || r.EndedBy != "kill" || !r.confirmed() {
		t.Errorf("%+v", r)
	}
	me.does("stop", "--now", ofB.JobID)
	if r := b.end(ofB.JobID); r.Signal != "SIGKILL" {
		t.Errorf("%+v", r)
	}
	me.does("stop", "--all")
	if r := c.end(ofC.JobID); r.State != "killed" {
		t.Errorf("%+v", r)
	}
	if all := me.jobs(); len(all) != 3 {
		t.Errorf("ended runs are not listed: %+v", all)
	}
	if status, _, errs := me.says("stop", "of a person"); status != 103 || !strings.Contains(errs, "no such job or run") {
		t.Errorf("an ended run: %d %s", status, errs)
	}
}

// A server that was killed is known as dead at once, and forgotten by prune.
func TestPersonSeesDeath(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	me := personOf(t, s)
	id := s.ready(shell("echo ready; exec sleep 300")).JobID
	found := me.until("the job", func(all map[string]seen) bool { return all[id].State == "running" })
	s.must(s.Process().Kill())
	s.gone()
	name := found[id].Server.ID
	if all := me.jobs(); len(all) != 1 || all[name].Server.Health != "stale" || all[name].Error == "" {
		t.Errorf("%+v", all)
	}
	status, _, errs := me.says("stop", id)
	if status != 103 || !strings.Contains(errs, "its process is dead") {
		t.Errorf("%d %s", status, errs)
	}
	me.does("prune")
	if all := me.jobs(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if left, err := os.ReadDir(s.path("run/servers")); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestPersonSeesThousandJobs(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{env: map[string]string{"BELFRY_MAX_RECORDS": "2000"}})
	const jobs = 1000
	for i := range jobs {
		s.tool("run", args{"command": []string{"no-such-program"}, "label": fmt.Sprint("job number ", i)})
	}
	me := personOf(t, s)
	all := me.until("all", func(all map[string]seen) bool { return len(all) == jobs })
	labels := map[string]bool{}
	for _, one := range all {
		labels[one.Label] = one.State == "failed"
	}
	for i := range jobs {
		if !labels[fmt.Sprint("job number ", i)] {
			t.Errorf("job number %d is not among them", i)
		}
	}
	if lines := strings.Count(me.does("jobs"), "\n"); lines != jobs+1 {
		t.Errorf("%d lines in the table", lines)
	}
}

// Another user can neither see nor stop a job, not even one who was let into the
// directories of sockets and records.
func TestStranger(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("not root: nobody else can be played")
	}
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) { stranger(t, u) })
	}
}

// stranger tries what it can with a job of another user.
func stranger(t *testing.T, u user) {
	s := serveAs(t, u)
	id := s.ready(shell("echo ready; exec sleep 300")).JobID
	owner := personOf(t, s)
	owner.change = u.change
	owner.until("the job", func(all map[string]seen) bool { return all[id].State == "running" })
	other := owner
	other.change = func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	}
	for _, verb := range [][]string{{"jobs"}, {"logs", id}, {"stop", "--now", id}} {
		if status, out, errs := other.says(verb...); status != 111 || out != "" || !strings.Contains(errs, "permission denied") {
			t.Errorf("%v: %d %s%s", verb, status, out, errs)
		}
	}

	// A registry of their own that names the endpoint, and doors left open.
	records, err := filepath.Glob(s.path("run/servers/*.json"))
	if err != nil || len(records) != 1 {
		t.Fatalf("%v %v", records, err)
	}
	text, err := os.ReadFile(records[0])
	s.must(err)
	var record struct{ Endpoint string }
	s.must(json.Unmarshal(text, &record))
	s.must(os.Chmod(filepath.Dir(record.Endpoint), 0o755))
	s.must(os.Chmod(record.Endpoint, 0o666))
	s.must(os.Chmod(s.path("run"), 0o755))
	s.must(os.Chmod(s.path("run/servers"), 0o755))
	s.must(os.Chmod(records[0], 0o644))
	s.must(os.Chmod(strings.TrimSuffix(records[0], "json")+"lock", 0o644))
	for _, verb := range [][]string{{"logs", id}, {"stop", "--now", id}} {
		if status, out, _ := other.says(verb...); status == 0 || strings.Contains(out, "ready") {
			t.Errorf("%v: %d %s", verb, status, out)
		}
	}
	if r := s.status(id); r.State != "running" {
		t.Errorf("%+v", r)
	}
	s.must(os.Chmod(s.path("run"), 0o700))
	owner.does("stop", id)
	if r := s.end(id); r.State != "killed" {
		t.Errorf("%+v", r)
	}
}
