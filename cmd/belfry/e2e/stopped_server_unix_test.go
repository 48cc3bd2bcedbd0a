//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// A server that is stopped keeps nobody from its detached jobs. Of the others a
// person hears which process it is; they are there when it goes on.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	apart := s.ready(helper("stubborn"), detached).JobID
	own := s.ready(helper("stubborn")).JobID
	s.must(s.Process().Signal(syscall.SIGSTOP))
	if out := s.cli(0, "stop", "--now", apart); !strings.Contains(out, "ended: killed SIGKILL") {
		t.Errorf("a detached job:\n%s", out)
	}
	pid := fmt.Sprintf("process %d is stopped or hangs", s.Process().Pid)
	if out := s.cli(103, "stop", own); !strings.Contains(out, pid) {
		t.Errorf("its own job:\n%s", out)
	}
	if out := s.cli(103, "jobs"); !strings.Contains(out, pid) {
		t.Errorf("belfry jobs:\n%s", out)
	}
	s.must(s.Process().Signal(syscall.SIGCONT))
	if r := s.end(apart); r.State != "killed" || r.Signal != "SIGKILL" {
		t.Errorf("%+v", r)
	}
	s.cli(0, "stop", "--now", own)
	s.leaves()
}
