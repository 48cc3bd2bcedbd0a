//go:build unix

package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Of a job whose journal is damaged is told which file that is, and not what would
// keep the output of a run.
func TestDamagedJournalIsTold(t *testing.T) {
	t.Parallel()
	s := serve(t, setup{})
	id := s.ready(helper("stubborn"), detached).JobID
	s.killed()
	s.cli(0, "stop", "--now", id)
	s.leftBehind(id, "killed", "ready\n")
	var journal string
	s.must(filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Base(filepath.Dir(path)) == id && strings.HasPrefix(d.Name(), "journal.") {
			journal = path
		}
		return err
	}))
	s.must(os.WriteFile(journal, bytes.Repeat([]byte{0xff}, 100), 0o600))
	if out := s.cli(111, "logs", id[:13]); !strings.Contains(out, journal+": the journal is damaged") || strings.Contains(out, "--capture-dir") {
		t.Errorf("belfry logs:\n%s", out)
	}
}
