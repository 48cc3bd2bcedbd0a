package e2e

import (
	"encoding/json"
	"errors"
	"maps"
	"os/exec"
	"time"

	"github.com/belfry-dev/belfry/server/client"
)

// args are a tool's arguments.
type args = map[string]any

// endOnly is a cursor beyond any line: such a follow waits for the end alone.
const endOnly int64 = 1_000_000_000_000

// longFollow is a follow's time-out, in milliseconds.
const longFollow = 60_000

// tool calls a tool that must not refuse.
func (s *server) tool(name string, a args) record {
	s.t.Helper()
	var r record
	if _, err := s.Tool(s.within(), name, a, &r); err != nil {
		s.t.Fatalf("%v\nstderr of the server:\n%s", err, s.stderr)
	}
	return r
}

// refused calls a tool that must refuse, and gives its words.
func (s *server) refused(name string, a args) string {
	s.t.Helper()
	_, err := s.Tool(s.within(), name, a, nil)
	var e *client.ToolError
	if !errors.As(err, &e) {
		s.t.Fatalf("%s %v gave %v, want a refusal", name, a, err)
	}
	return e.Text
}

// runArgs are the arguments of a job whose environment holds the server's
// token, so that its processes can be found.
func (s *server) runArgs(command any, more ...args) args {
	a := args{"command": command}
	vars := map[string]string{tokenVar: s.token}
	if raceEnabled {
		vars["GORACE"] = quickExit
	}
	for _, m := range more {
		for k, v := range m {
			if k == "vars" {
				maps.Copy(vars, v.(map[string]string))
				continue
			}
			a[k] = v
		}
	}
	a["env"] = args{"vars": vars}
	return a
}

// quickExit spares programs that the race detector watches the second that
// they otherwise wait before they exit.
const quickExit = "atexit_sleep_ms=0"

// tokenVar marks every process of these tests' jobs.
const tokenVar = "BELFRY_E2E_TOKEN"

// begin starts a job that must start.
func (s *server) begin(command any, more ...args) record {
	s.t.Helper()
	r := s.tool("run", s.runArgs(command, more...))
	if r.Diagnostic != nil {
		s.t.Fatalf("run %v: %+v", command, r.Diagnostic)
	}
	return r
}

// helper is the argument vector of one of the helpers.
func helper(name string, a ...string) []string {
	return append([]string{helperExe, helperVerb, name}, a...)
}

// shell is the argument vector of a line for sh.
func shell(line string) []string { return []string{"sh", "-c", line} }

func (s *server) status(id string) record {
	s.t.Helper()
	return s.tool("status", args{"job_id": id})
}

// running waits until a job is no longer starting. Nothing tells of that: it
// asks.
func (s *server) running(id string) {
	s.t.Helper()
	for end := time.Now().Add(guard); s.status(id).State == "starting"; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("job %s has not started in %v", id, guard)
		}
	}
}

func (s *server) kill(id string, more ...args) record {
	s.t.Helper()
	a := args{"job_id": id}
	for _, m := range more {
		maps.Copy(a, m)
	}
	return s.tool("kill", a)
}

// end waits for the end of a job.
func (s *server) end(id string) record {
	s.t.Helper()
	r := s.tool("follow", args{"job_id": id, "cursor": endOnly, "timeout_ms": longFollow})
	if r.Reason != "terminal" {
		s.t.Fatalf("job %s has not ended in %d ms: %+v", id, longFollow, r)
	}
	return r
}

// exited wants the ordinary end of a job.
func (s *server) exited(r record, code int) {
	s.t.Helper()
	if r.State != "exited" || r.code() != code || r.EndedBy != "exit" {
		s.t.Errorf("job %s: state %s, exit code %d, ended by %s; want exited, %d, exit\n%+v", r.JobID, r.State, r.code(), r.EndedBy, code, r)
	}
}

// status0 is the server's exit status, -1 when a signal ended it.
func (s *server) status0() int {
	err := s.Wait()
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode()
	}
	s.t.Errorf("wait for the server: %v", err)
	return -1
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
