//go:build unix

package e2e

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

// However a server is asked to end, its jobs get their soft stop and their
// time to act on it.
func TestOrderlyEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*server) error{
		"end of input": (*server).CloseInput,
		"SIGTERM":      func(s *server) error { return s.Process().Signal(syscall.SIGTERM) },
		"SIGINT":       func(s *server) error { return s.Process().Signal(syscall.SIGINT) },
		"SIGHUP":       func(s *server) error { return s.Process().Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, setup{env: map[string]string{"BELFRY_MAX_CONCURRENT_JOBS": "2"}})
			file := s.path("cleaned")
			s.ready(shell(fmt.Sprintf(`trap 'echo yes > "%s"; exit 0' TERM; sleep 300 & echo ready; wait`, file)))
			s.ready(helper("stubborn"))
			queued := s.begin([]string{"touch", s.path("queued-ran")})
			if queued.QueuePosition != 1 {
				t.Errorf("not queued: %+v", queued)
			}
			s.must(end(s))
			s.exits(0)
			s.wantNone("after the server's end")
			if text, err := os.ReadFile(file); err != nil || string(text) != "yes\n" {
				t.Errorf("the job did not clean up: %q %v", text, err)
			}
			if _, err := os.Stat(s.path("queued-ran")); !os.IsNotExist(err) {
				t.Errorf("the queued job ran: %v", err)
			}
		})
	}
}

// A second signal while the server ends its jobs hastens the end and abandons
// no job.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, c := range [][]syscall.Signal{
		{syscall.SIGTERM, syscall.SIGTERM},
		{syscall.SIGINT, syscall.SIGINT},
		{syscall.SIGHUP, syscall.SIGTERM},
		{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			for range rounds(t, 10) {
				s := serve(t, setup{})
				asked := newGate(s)
				// Says through the gate's file that its soft stop has come.
				s.ready(shell(fmt.Sprintf(`trap 'echo asked > "%s"' TERM; echo ready; while :; do sleep 1 & wait; done`, asked.file)))
				for range 3 {
					s.ready(helper("stubborn"))
				}
				s.must(s.Process().Signal(c[0]))
				heard := make(chan error, 1)
				go func() {
					_, err := asked.hold.Read(make([]byte, 16))
					heard <- err
				}()
				select {
				case err := <-heard:
					s.must(err)
				case <-time.After(guard):
					t.Fatal("the job was not asked to end")
				}
				for _, sig := range c[1:] {
					s.must(s.Process().Signal(sig))
				}
				s.exits(0)
				s.wantNone("after the server's end")
			}
		})
	}
}
