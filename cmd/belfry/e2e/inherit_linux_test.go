package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// What a careless host hands to the server stops there: its blocked and
// ignored signals and its open descriptors do not reach jobs.
func TestCarelessHost(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{parent: helper("parent")})
	had, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", s.Process().Pid, strayFD))
	if err != nil || !strings.HasPrefix(had, "pipe:") {
		t.Fatalf("the server has not inherited the pipe: %s %v", had, err)
	}
	for name, command := range map[string]any{"argv": []string{"cat", "/proc/self/status"}, "shell": "exec cat /proc/self/status"} {
		_, isLine := command.(string)
		j := s.begin(command, args{"shell": isLine})
		s.exited(s.end(j.JobID), 0)
		seen := 0
		for line := range strings.Lines(s.text(j.JobID, "stdout")) {
			key, value, _ := strings.Cut(line, ":")
			if key != "SigBlk" && key != "SigIgn" {
				continue
			}
			seen++
			if strings.Trim(value, "0 \t\n") != "" {
				t.Errorf("%s: a job has %s %s", name, key, strings.TrimSpace(value))
			}
		}
		if seen != 2 {
			t.Errorf("%s: no signal masks in the status", name)
		}
	}
	j := s.begin([]string{"ls", "/proc/self/fd"})
	s.exited(s.end(j.JobID), 0)
	if got, want := s.text(j.JobID, "stdout"), "0\n1\n2\n3\n"; got != want { // 3 is the folder that ls reads
		t.Errorf("a job has the descriptors %q, want %q", got, want)
	}
	left := s.begin([]string{"sleep", "300"})
	s.must(s.Process().Signal(syscall.SIGTERM)) // was blocked and ignored
	s.exits(0)
	s.wantNone("after SIGTERM with job " + left.JobID)
}
