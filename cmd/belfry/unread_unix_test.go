//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/belfry-dev/belfry/server/client"
)

// A client that does not read its replies keeps no job alive: they end
// while the replies still wait for it. At the end of the input it
// gets all of them when it reads after all; a second signal does not wait.
func TestEndsOfAnUnreadServer(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*session) error
		then func(*session) error
		all  bool // every request is answered
	}{
		{"end of stdin", (*session).closeInput, func(s *session) error { s.Resume(); return nil }, true},
		{"signals", (*session).terminate, (*session).terminate, false},
		{"end of stdin and a signal", (*session).closeInput, (*session).terminate, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			path := filepath.Join(t.TempDir(), "held")
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			held, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Close()
			s.job(fmt.Sprintf(`exec 3>"%s"; echo ready; sleep 300`, path))
			s.Pause()
			// More than a pipe and the client's buffer hold.
			var sent []*client.Pending
			for range 1500 {
				p, err := s.SendTool("list", nil)
				if err != nil {
					t.Fatal(err)
				}
				sent = append(sent, p)
			}
			if err := c.end(s); err != nil {
				t.Fatal(err)
			}
			// Ends with the last process of the job.
			if _, err := io.ReadAll(held); err != nil {
				t.Fatal(err)
			}
			if err := c.then(s); err != nil {
				t.Fatal(err)
			}
			if c.all {
				for i, p := range sent {
					if _, err := p.Wait(t.Context()); err != nil {
						t.Fatalf("request %d: %v", i, err)
					}
				}
			}
			if status := s.ends(); status != exitOK {
				t.Errorf("the server ended with status %d\n%s", status, &s.stderr)
			}
			s.Resume()
		})
	}
}

func (s *session) closeInput() error { return s.CloseInput() }
func (s *session) terminate() error  { return s.Process().Signal(syscall.SIGTERM) }
