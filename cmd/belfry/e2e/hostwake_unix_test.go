//go:build unix

package e2e

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A host that gives its messaging socket is woken through it when a job ends;
// one that forbids it is left alone.
func TestHostIsWoken(t *testing.T) {
	t.Parallel()
	need(t, "true")
	for _, forbidden := range []bool{false, true} {
		// A socket's path is short: the test's own folder is too deep for it.
		dir, err := os.MkdirTemp("", "belfry")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		path := filepath.Join(dir, "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		said := make(chan string, 100)
		go func() {
			defer close(said)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				for lines := bufio.NewScanner(c); lines.Scan(); {
					said <- lines.Text()
				}
				c.Close()
			}
		}()
		env := map[string]string{"CLAUDE_CODE_MESSAGING_SOCKET": path, "CLAUDE_CODE_MESSAGING_TOKEN": "tok"}
		if forbidden {
			env["BELFRY_DISABLE_CLAUDE_MESSAGING_WAKE"] = "1"
		}
		s := serve(t, setup{env: env})
		id := s.begin([]string{"sleep", "0.05"}).JobID
		s.end(id)
		if forbidden {
			s.must(s.CloseInput())
			s.exits(0)
			l.Close()
			for line := range said {
				t.Errorf("though forbidden: %s", line)
			}
			continue
		}
		for line := range said {
			if strings.Contains(line, `"user"`) {
				if !strings.Contains(line, id) {
					t.Errorf("said %s", line)
				}
				break
			}
			if !strings.Contains(line, `"auth"`) || !strings.Contains(line, `"tok"`) {
				t.Errorf("said %s", line)
			}
		}
		l.Close()
	}
}
