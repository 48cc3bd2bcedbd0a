package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/server/client"
)

// server is a belfry in a process of its own and its only client.
type server struct {
	*client.Client
	t      testing.TB
	dir    string // its own folder: its program, its policy, whatever the test likes
	exe    string // a name of the binary that no other server has
	token  string // stands in the environment of every job of it
	stderr *buffer
	ended  bool // the test has ended it and looked at the outcome
}

// setup is how to start a server; the zero value is an ordinary one.
type setup struct {
	env    map[string]string
	allow  []string // beside the helper and the usual programs
	args   []string // after mcp
	parent []string // starts the server instead of the test: its argument vector, in front of the server's
	change func(*exec.Cmd)
	shared bool // it starts what stays when it ends
}

// usual are the programs that every policy of these tests allows, if present.
var usual = []string{"sh", "bash", "dash", "sleep", "true", "cat", "env", "echo", "grep", "ls", "touch", "yes"}

// programs are the paths of the usual programs, found once.
var programs = sync.OnceValue(func() []string {
	var found []string
	for _, name := range usual {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	return found
})

// need skips a test whose program is not installed.
func need(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
}

var serverCount atomic.Int64

// serve starts a server and opens the connection. When the test ends, the
// server must end in an orderly way, with no process of its own or of its
// jobs left.
func serve(t testing.TB, o setup) *server {
	t.Helper()
	s := prepare(t, o)
	s.start(o)
	return s
}

// start starts the server that was prepared.
func (s *server) start(o setup) {
	s.t.Helper()
	s.connect(o, s.cleanUp)
}

// connect starts the process and opens the connection.
func (s *server) connect(o setup, cleanUp func()) {
	s.t.Helper()
	var err error
	s.Client, err = client.Start(s.command(o))
	s.must(err)
	s.t.Cleanup(cleanUp)
	_, err = s.Open(s.within())
	s.must(err)
}

// prepare makes a server's folder, its program's name and its policy.
func prepare(t testing.TB, o setup) *server {
	t.Helper()
	n := serverCount.Add(1)
	s := &server{t: t, token: fmt.Sprintf("e2e-%d-%d", os.Getpid(), n), stderr: &buffer{}}
	s.dir = filepath.Join(shared, s.token)
	s.exe = filepath.Join(s.dir, filepath.Base(belfryExe(t)))
	s.must(os.Mkdir(s.dir, 0o777))
	s.must(os.Chmod(s.dir, 0o777))
	s.must(linkProgram(s.exe, belfryExe(t)))
	s.allow(o.allow...)
	return s
}

// command is what starts the server.
func (s *server) command(o setup) *exec.Cmd {
	args := append(append(slices.Clone(o.parent), s.exe, "mcp"), o.args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = s.env(o)
	cmd.Stderr = s.stderr
	if o.change != nil {
		o.change(cmd)
	}
	if !o.shared {
		s.house(cmd)
	}
	return cmd
}

// env is the environment of the server and of other verbs beside it.
func (s *server) env(o setup) (list []string) {
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": s.dir, "TMPDIR": os.TempDir(), "XDG_CONFIG_HOME": s.dir,
		"GORACE": os.Getenv("GORACE") + " " + quickExit, "GOCOVERDIR": os.Getenv("GOCOVERDIR"), "SystemRoot": os.Getenv("SystemRoot"),
		"BELFRY_POLICY_FILE": s.path("policy.json"), "BELFRY_KILL_GRACE_MS": "1000",
		"BELFRY_RUNTIME_DIR": s.path("run"),
	}
	maps.Copy(env, o.env)
	for _, key := range slices.Sorted(maps.Keys(env)) {
		list = append(list, key+"="+env[key])
	}
	return list
}

// linkProgram gives a program a second name; a copy would cost time, and the
// test of a program that was just written is at odds with parallel forks.
func linkProgram(to, from string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return os.Symlink(from, to)
}

// allow writes the policy: what every test uses, and more.
func (s *server) allow(more ...string) {
	s.t.Helper()
	text, err := json.Marshal(map[string][]string{"allow": append(append(slices.Clone(programs()), helperExe), more...)})
	s.must(err)
	s.must(os.WriteFile(s.path("policy.json"), text, 0o644))
}

func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// within is a context that ends a wait which would hang.
func (s *server) within() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	s.t.Cleanup(cancel)
	return ctx
}

func (s *server) cleanUp() {
	if !s.ended {
		s.must(s.CloseInput())
		s.exits(0)
	}
	s.noTraces()
	s.forget()
	if s.t.Failed() {
		s.t.Logf("stderr of the server:\n%s", s.stderr)
	}
}

// forget removes what killed servers leave for belfry prune outside of the
// server's folder: their sockets.
func (s *server) forget() {
	records, err := filepath.Glob(s.path(filepath.Join("run", "servers", "*.json")))
	s.must(err)
	for _, path := range records {
		var record struct{ Endpoint string }
		if text, err := os.ReadFile(path); err != nil || json.Unmarshal(text, &record) != nil {
			continue // one that is there still
		}
		dir := filepath.Dir(record.Endpoint)
		if strings.HasPrefix(filepath.Base(dir), "belfry-") && filepath.Base(record.Endpoint) == "c.sock" {
			s.must(os.RemoveAll(dir))
		}
	}
}

// exits waits for the end of the server and of its words, and wants a status.
func (s *server) exits(status int) {
	s.t.Helper()
	s.ended = true
	s.gone()
	if got := s.status0(); got != status {
		s.t.Errorf("the server ended with status %d, want %d\n%s", got, status, s.stderr)
	}
	select {
	case <-s.Done():
	case <-time.After(guard):
		s.t.Error("somebody holds the server's stdout after its end")
	}
	if strays := s.Strays(); len(strays) > 0 {
		s.t.Errorf("on stdout, beside the protocol: %q", strays)
	}
	for _, word := range []string{"DATA RACE", "panic:", "fatal error:"} {
		if strings.Contains(s.stderr.String(), word) {
			s.t.Errorf("the server says %s:\n%s", word, s.stderr)
		}
	}
}

// gone waits for the end of the server's process.
func (s *server) gone() {
	s.t.Helper()
	s.ended = true
	over := make(chan struct{})
	go func() {
		_ = s.Wait() // The status says it.
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(guard):
		s.t.Errorf("the server has not ended after %v", guard)
		_ = s.Process().Kill()
		<-over
	}
}

// buffer collects what a process says while others look.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

var _ io.Writer = (*buffer)(nil)
