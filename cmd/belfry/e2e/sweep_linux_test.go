package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// killAll kills a server together with the helpers that live in its control
// group, so that none of them can act.
func (s *server) killAll() {
	s.t.Helper()
	s.must(s.Process().Signal(syscall.SIGSTOP))
	text, err := os.ReadFile(filepath.Join(s.group(), "cgroup.procs"))
	s.must(err)
	for _, word := range strings.Fields(string(text)) {
		if pid, _ := strconv.Atoi(word); pid > 0 && pid != s.Process().Pid {
			s.must(syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	s.must(s.Process().Kill())
	s.exits(-1)
}

// TestNextStartSweeps: with the guardian killed too the tree lives on, until the
// next server has answered, or until somebody sweeps.
func TestNextStartSweeps(t *testing.T) {
	for _, c := range []struct {
		name  string
		sweep func(s *server)
	}{
		{"the next server", func(s *server) {
			serve(s.t, setup{env: map[string]string{"BELFRY_RUNTIME_DIR": s.path("run")}})
		}},
		{"doctor --sweep", func(s *server) {
			cmd := exec.Command(s.exe, "doctor", "--sweep")
			cmd.Env = []string{"BELFRY_RUNTIME_DIR=" + s.path("run")}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "ended ") {
				s.t.Errorf("%v: %s", err, out)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range rounds(t, 20) {
				s := serve(t, setup{})
				was := s.treeOf("tree-" + s.token)
				if was.Mechanism != "cgroup_v2" {
					t.Skipf("%s leaves nothing to find", was.Mechanism)
				}
				if was.Guarantee.HelperDeath != "tree_on_restart" {
					t.Errorf("%+v", was.Guarantee)
				}
				s.killAll()
				if len(promised("tree", was.PID, s.jobs())) == 0 {
					t.Error("there is nothing to sweep")
				}
				c.sweep(s)
				s.survivors(was, "tree", false)
				s.letGo("tree-" + s.token)
			}
		})
	}
}
