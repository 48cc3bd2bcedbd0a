package belfry_test

import "testing"

// The wall is itself tested: what must be refused is, and what must pass does.
func TestRefuse(t *testing.T) {
	for _, c := range []struct {
		path, imported string
		refused        bool
	}{
		{"ring/ring.go", "sync/atomic", false},
		{"ring/ring.go", module + "/job", true},
		{"ring/ring.go", "net/http", true},
		{"ring/ring_test.go", "github.com/google/go-cmp/cmp", false},
		{"ring/ring.go", "github.com/google/go-cmp/cmp", true},
		{"job/start.go", module + "/sys", false},
		{"job/start.go", module + "/linux", true},
		{"job/start.go", module + "/server/wire", true},
		{"job/start_test.go", module + "/sys/systest", false},
		{"job/start.go", module + "/sys/systest", true},
		{"job/start.go", "flag", true},
		{"job/start_test.go", module + "/job", false},
		{"sys/tree_cgroup_linux.go", module + "/linux", false},
		{"sys/tree_cgroup_linux_test.go", module + "/linux", false},
		{"sys/tree_cgroup_linux.go", module + "/darwin", true},
		{"sys/tree.go", module + "/linux", true},
		{"sys/pipe_unix.go", "golang.org/x/sys/unix", true},
		{"sys/pty_unix.go", "github.com/creack/pty", false},
		{"linux/pidfd_linux.go", "golang.org/x/sys/unix", false},
		{"linux/pidfd_linux.go", "C", true},
		{"linux/pidfd_linux.go", module + "/sys", true},
		{"darwin/kinfo.go", "github.com/prometheus/procfs", true},
		{"server/tool_run.go", module + "/job", false},
		{"server/tool_run.go", module + "/sys", true},
		{"server/tool_run.go", "github.com/modelcontextprotocol/go-sdk/mcp", false},
		{"server/wire/front.go", module + "/job", true},
		{"server/wire/front.go", "github.com/modelcontextprotocol/go-sdkother", true},
		{"docs/demo/main.go", "encoding/json", false},
		{"docs/demo/main.go", module + "/server/client", false},
		{"docs/demo/main.go", module + "/server/wire", true},
	} {
		f := source{path: c.path, room: roomOf(c.path), test: isTest(c.path)}
		reason := refuse(f, rooms[f.room], c.imported)
		if (reason != "") != c.refused {
			t.Errorf("%s imports %s: refused is %t (%q), want %t", c.path, c.imported, reason != "", reason, c.refused)
		}
	}
}
