package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/cmd/belfry/e2e"
	"github.com/belfry-dev/belfry/server/client"
	"github.com/belfry-dev/belfry/sys/systest"
)

// The measurements of the built binary: what a client gets next to what a
// program gets that does the same by itself.

// hung ends a wait that would never end.
const hung = 2 * time.Minute

// whole ends a test that would never end.
const whole = 10 * time.Minute

// belfry is the binary: BELFRY_E2E_BINARY, or built for this test.
type belfry string

func build(t *testing.T) belfry {
	t.Helper()
	if path := os.Getenv("BELFRY_E2E_BINARY"); path != "" {
		return belfry(path)
	}
	path, err := e2e.Build(bound(t), "..", t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	return belfry(path)
}

// measured skips what is no measurement: under the race detector, and where
// time is short.
func measured(tb testing.TB) {
	tb.Helper()
	if raced || testing.Short() {
		tb.Skip("no measurement under the race detector or with -short")
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Logf("load average %s", bytes.TrimSpace(load))
}

// connect starts a server and speaks with it. Words of the form NAME=value are of
// its environment, the others are programs that it may run.
func (b belfry) connect(tb testing.TB, words ...string) *client.Client {
	tb.Helper()
	var env, allow []string
	for _, w := range words {
		if strings.HasPrefix(w, "BELFRY_") {
			env = append(env, w)
		} else {
			allow = append(allow, w)
		}
	}
	cmd := b.command(tb, allow...)
	cmd.Env = append(cmd.Env, env...)
	// Apart from this process and its other children, as an agent's server is.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c, err := client.Start(cmd)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { end(tb, c) })
	if _, err := c.Open(bound(tb)); err != nil {
		tb.Fatal(err)
	}
	return c
}

func (b belfry) command(tb testing.TB, allow ...string) *exec.Cmd {
	tb.Helper()
	dir := tb.TempDir()
	text, err := json.Marshal(map[string][]string{"allow": allow})
	if err != nil {
		tb.Fatal(err)
	}
	policy := filepath.Join(dir, "policy.json")
	if err := os.WriteFile(policy, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(string(b), "mcp", "--policy", policy)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_CONFIG_HOME=" + dir}
	cmd.Stderr = os.Stderr
	return cmd
}

func end(tb testing.TB, c *client.Client) {
	tb.Helper()
	if err := c.Close(); err != nil {
		tb.Error(err)
	}
	<-c.Done()
}

// bound is the context of a test, one for all its calls: the timer of one a call
// would wake a thread here, in what is measured.
func bound(tb testing.TB) context.Context {
	if ctx, ok := bounds.Load(tb); ok {
		return ctx.(context.Context)
	}
	ctx, cancel := context.WithTimeout(context.Background(), whole)
	bounds.Store(tb, ctx)
	tb.Cleanup(func() {
		cancel()
		bounds.Delete(tb)
	})
	return ctx
}

var bounds sync.Map // of context.Context, by testing.TB

// told is what the measurements read of a record.
type told struct {
	JobID  string `json:"job_id"`
	State  string
	Reason string
	Counts struct {
		StdoutBytes int64 `json:"stdout_bytes"`
	}
	ExitCode      *int `json:"exit_code"`
	KillConfirmed bool `json:"kill_confirmed"`
	Diagnostic    *struct{ Message string }
	Events        []struct{ Text string }
	NextCursor    int64 `json:"next_cursor"`
}

// answered waits for a tool's answer, from any goroutine.
func answered(tb testing.TB, p *client.Pending) (r told, err error) {
	a, err := p.WaitTool(bound(tb))
	if err != nil {
		return r, err
	}
	if a.IsError {
		return r, errors.New(a.Text)
	}
	if err = json.Unmarshal(a.Structured, &r); err == nil && r.Diagnostic != nil {
		err = errors.New(r.Diagnostic.Message)
	}
	return r, err
}

func tool(tb testing.TB, c *client.Client, name string, args map[string]any) (r told) {
	tb.Helper()
	if _, err := c.Tool(bound(tb), name, args, &r); err != nil {
		tb.Fatal(err)
	}
	if r.Diagnostic != nil {
		tb.Fatalf("%s: %s", name, r.Diagnostic.Message)
	}
	return r
}

func begin(tb testing.TB, c *client.Client, argv ...string) string {
	tb.Helper()
	return tool(tb, c, "run", map[string]any{"command": argv}).JobID
}

// never is a seq that no job gets to.
const never = int64(1_000_000_000_000)

// finish waits for the end of a job.
func finish(tb testing.TB, c *client.Client, id string) told {
	tb.Helper()
	r := tool(tb, c, "follow", map[string]any{"job_id": id, "cursor": never, "timeout_ms": hung.Milliseconds()})
	if r.Reason != "terminal" {
		tb.Fatalf("job %s has not ended in %v", id, hung)
	}
	return r
}

// helperArgv is the argument vector of a helper process.
func helperArgv(name string, args ...string) []string {
	path, argv, _ := systest.Command(name, args...)
	return append([]string{path}, argv[1:]...)
}

// figures are times of the same thing.
type figures []time.Duration

func (f figures) at(percent int) time.Duration {
	s := slices.Sorted(slices.Values(f))
	return s[(len(s)-1)*percent/100]
}

func (f figures) String() string {
	return fmt.Sprintf("best %v, median %v, p90 %v of %d", f.at(0), f.at(50), f.at(90), len(f))
}

// compare measures two sides and wants the ratio of their medians, or of their
// bests where the machine is too busy for medians, to stay within most. Where
// the kernel puts the processes of a round decides over a factor of two and
// stays so for a while: what is out of bounds is measured again.
func compare(t *testing.T, what string, most float64, measure func() (ours, bare figures)) {
	t.Helper()
	var last float64
	for range attempts {
		ours, bare := measure()
		ratio := func(percent int) float64 { return float64(ours.at(percent)) / float64(bare.at(percent)) }
		t.Logf("%s: ours %v; bare %v; ratio of the bests %.2f, of the medians %.2f, at most %.2f", what, ours, bare, ratio(0), ratio(50), most)
		if last = min(ratio(0), ratio(50)); last <= most {
			return
		}
	}
	t.Errorf("%s takes %.2f times as long, and never at most %.2f in %d attempts", what, last, most, attempts)
}

// attempts is how often a comparison is measured before it is out of bounds.
const attempts = 6

// statusField reads a number from /proc/pid/status, in the unit given there.
func statusField(tb testing.TB, pid int, field string) (n int) {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				tb.Fatal(err)
			}
			return n
		}
	}
	tb.Fatalf("/proc/%d/status has no %s", pid, field)
	return 0
}
