package registry

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// A runner in a process of its own: publish DIR ID ENDPOINT tells its record's
// path and, at the end of its input, ends in order.
func init() {
	systest.Register("publish", func(args []string) int {
		r := Open(args[0])
		if err := r.Prepare(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		rec := Record{RunID: args[1], StartedAt: time.Now()}
		if args[2] == "endpoint" {
			ep, err := sys.ListenTemp()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			rec.Endpoint = ep.Name()
		}
		p, err := r.Publish(rec)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Fprintln(os.Stdout, p.Path())
		io.Copy(io.Discard, os.Stdin)
		if err := p.Remove(Outcome{Source: "child_exit"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	})
}

func TestMain(m *testing.M) { systest.Main(m) }

// runner is a live run in another process.
type runner struct {
	cmd   *exec.Cmd
	stdin io.Closer
	path  string // of its record
}

func start(t *testing.T, r *Registry, id, endpoint string) *runner {
	t.Helper()
	path, argv, env := systest.Command("publish", r.Dir(), id, endpoint)
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Args, cmd.Env, cmd.Stderr = argv, env, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &runner{cmd, in, strings.TrimSpace(line)}
}

// kill ends the runner as abruptly as can be.
func (r *runner) kill(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	r.cmd.Wait() // the error tells of the kill
}

// end lets the runner end in order.
func (r *runner) end(t *testing.T) {
	t.Helper()
	r.stdin.Close()
	if err := r.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
