package clienttest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// inspector runs the inspector's command line once, on a server of its own, and
// gives its exit status and what it said.
type inspector struct {
	k    kit
	home string
	era  string
}

func (i inspector) run(t *testing.T, args ...string) (status int, out, faults []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	argv := append([]string{filepath.Join(i.k.modules, ".bin", "mcp-inspector"), "--cli", i.k.server,
		"--format", "json", "-q", "--protocol-era", i.era,
		"--connect-timeout", strconv.FormatInt(guard.Milliseconds(), 10)}, args...)
	cmd := exec.CommandContext(ctx, i.k.node, argv...)
	cmd.Env = append(os.Environ(), "HOME="+i.home, "NO_COLOR=1", "MCP_INSPECTOR_SECRET_STORE=memory")
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.Bytes(), e.Bytes()
}

// result decodes what a successful run said; the payload may be wrapped.
func (i inspector) result(t *testing.T, into any, args ...string) {
	t.Helper()
	status, out, faults := i.run(t, args...)
	if status != 0 {
		t.Fatalf("exit status %d\n%s%s", status, out, faults)
	}
	if wrapped := objectOf(out)["result"]; wrapped != nil {
		out = wrapped
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("%v in %.300s", err, out)
	}
}

func TestInspector(t *testing.T) {
	k := clients(t)
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			i := inspector{k, t.TempDir(), era}
			t.Run("tools/list --strict", func(t *testing.T) {
				var r struct{ Tools []struct{ Name string } }
				i.result(t, &r, "--method", "tools/list", "--strict")
				if len(r.Tools) != 7 {
					t.Errorf("%d tools", len(r.Tools))
				}
			})
			t.Run("tools/call run", func(t *testing.T) {
				var r struct {
					StructuredContent record
					IsError           bool
				}
				i.result(t, &r, "--method", "tools/call", "--tool-name", "run", "--tool-args-json", `{"command":["true"]}`)
				if r.IsError || r.StructuredContent.JobID == "" {
					t.Errorf("%+v", r)
				}
			})
			t.Run("a tool's error names the job", func(t *testing.T) {
				status, out, faults := i.run(t, "--method", "tools/call", "--tool-name", "follow", "--tool-args-json", `{"job_id":"no-such-job"}`)
				if both := string(out) + string(faults); status == 0 || !strings.Contains(both, "no-such-job") {
					t.Errorf("exit status %d\n%s", status, both)
				}
			})
			t.Run("resources/templates/list", func(t *testing.T) {
				var r struct {
					ResourceTemplates []struct{ URITemplate string }
				}
				i.result(t, &r, "--method", "resources/templates/list")
				if len(r.ResourceTemplates) != 2 {
					t.Errorf("%+v", r)
				}
			})
			t.Run("prompts/list", func(t *testing.T) {
				var r struct{ Prompts []struct{ Name string } }
				i.result(t, &r, "--method", "prompts/list")
				if len(r.Prompts) == 0 {
					t.Error("no prompts")
				}
			})
		})
	}
}
