package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/server/client"
)

// hung ends a wait that would never end.
const hung = 3 * time.Minute

// server is a job server that speaks the protocol on its standard streams.
type server struct {
	name string
	// command is a line for sh; {policy} in it becomes the path of a policy file,
	// {"allow":[...]}, that permits what is measured.
	command string
}

// patience is how long a server may take to end.
const patience = 20 * time.Second

// session is one server, started and greeted.
type session struct {
	*client.Client
	dir      string
	ours     bool // its exit code is as it should be
	patience time.Duration
}

// record is what is read of a job's record and of the replies around it.
type record struct {
	JobID      string `json:"job_id"`
	State      string
	Reason     string
	NextCursor int64 `json:"next_cursor"`
	ExitCode   *int  `json:"exit_code"`
	Diagnostic *struct{ Message string }
	Events     []struct{ Text string }
}

// open starts the server with further words of its environment, NAME=value.
func (s server) open(env ...string) (*session, error) {
	dir, err := os.MkdirTemp(scratch, "compare-")
	if err != nil {
		return nil, err
	}
	x := &session{dir: dir, ours: s.name == "belfry", patience: patience}
	if err := x.start(s, env); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.name, err), os.RemoveAll(dir))
	}
	return x, nil
}

func (x *session) start(s server, env []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	allow := []string{self}
	for _, name := range []string{"true", "sleep", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			allow = append(allow, path)
		}
	}
	text, err := json.Marshal(map[string][]string{"allow": allow})
	if err != nil {
		return err
	}
	policy := filepath.Join(x.dir, "policy.json")
	if err := os.WriteFile(policy, text, 0o600); err != nil {
		return err
	}
	words := "exec env"
	for _, e := range env {
		words += " '" + e + "'"
	}
	cmd := apart(exec.Command("sh", "-c", words+" "+strings.ReplaceAll(s.command, "{policy}", policy)))
	cmd.Stderr = os.Stderr
	if x.Client, err = client.Start(cmd); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	if _, err = x.Open(ctx); err != nil {
		err = errors.Join(err, x.leave())
	}
	return err
}

// leave ends the server's input and waits for its end; one that does not end is
// killed. The exit code of another server is its own affair.
func (x *session) leave() error {
	err := x.CloseInput()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	ended := make(chan error, 1)
	go func() { ended <- x.Wait() }()
	select {
	case failed := <-ended:
		if _, exited := errors.AsType[*exec.ExitError](failed); x.ours || !exited {
			err = errors.Join(err, failed)
		}
	case <-time.After(x.patience):
		err = errors.Join(err, fmt.Errorf("the server has not ended in %v after its input and was killed", x.patience), x.Process().Kill())
		<-ended
	}
	return err
}

// end is leave, and the rest of the session with it.
func (x *session) end() error {
	err := x.leave()
	select {
	case <-x.Done():
	case <-time.After(x.patience): // a job that it has left holds its output
		err = errors.Join(err, x.HangUp())
		<-x.Done()
	}
	return errors.Join(err, os.RemoveAll(x.dir))
}

// decode reads the record of an answer.
func decode(a client.Answer, r *record) error {
	if a.IsError {
		return errors.New(a.Text)
	}
	text := a.Structured
	if text == nil {
		text = json.RawMessage(a.Text) // what servers of older revisions have
	}
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	if r.Diagnostic != nil {
		return errors.New(r.Diagnostic.Message)
	}
	return nil
}

func (x *session) call(tool string, args map[string]any) (r record, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	a, err := x.Tool(ctx, tool, args, nil)
	if err != nil {
		return r, err
	}
	if err = decode(a, &r); err != nil {
		err = fmt.Errorf("%s: %w", tool, err)
	}
	return r, err
}

// begin runs a command and gives its id.
func (x *session) begin(argv []string) (string, error) {
	r, err := x.call("run", map[string]any{"command": argv})
	return r.JobID, err
}

// finish waits until the job has ended. A server may wait for less long than it is
// asked to, and be asked again.
func (x *session) finish(id string) (record, error) {
	// No job has so many lines: only its end answers.
	const never = int64(1_000_000_000_000)
	for start := time.Now(); ; {
		r, err := x.call("follow", map[string]any{"job_id": id, "cursor": never, "timeout_ms": (30 * time.Second).Milliseconds()})
		if err != nil || r.Reason == "terminal" {
			return r, err
		}
		if time.Since(start) > hung {
			return r, fmt.Errorf("job %s has not ended in %v: follow says %q", id, hung, r.Reason)
		}
	}
}
