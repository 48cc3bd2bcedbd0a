package detach

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/ring"
)

// A job that ends while nothing can be written any more has its outcome and its
// newest lines, and those that are missing are told.
func TestEndOnFullDisk(t *testing.T) {
	for name, length := range map[string]int{"short lines": 10, "long lines": 30_000, "a line that does not fit": asideSize} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := newWriter(t, dir, 1<<20)
			x.say(job.Stdout, "first\n")
			live := newSide()
			lr := &reader{dir: dir, to: live}
			defer lr.close()
			drained(t, lr, false)
			if err := os.Mkdir(journalPath(dir, 2)+".tmp", 0o700); err != nil {
				t.Fatal(err) // no next file can be made
			}
			x.w.f.Close() // and every write fails
			const lines = 30
			for i := range lines {
				x.say(job.Stdout, fmt.Sprintf("%d %s\n", i, strings.Repeat("x", length)))
			}
			code := 7
			x.w.Record(job.Snapshot{ID: "x", State: job.Exited, ExitCode: &code})
			x.w.end() // What it tells is about the file that was closed.
			late := newSide()
			drained(t, &reader{dir: dir, to: late}, true)
			drained(t, lr, true)
			for who, s := range map[string]*side{"who was there": live, "who comes later": late} {
				if s.record.State != job.Exited || s.record.ExitCode == nil || *s.record.ExitCode != 7 {
					t.Errorf("%s: %+v", who, s.record)
				}
				p, all := s.ring.After(0, ring.SelBoth, 0, 0), s.ring.Stat(ring.Stdout).Lines
				if all != lines+1 || uint64(len(p.Lines))+p.Loss[ring.Stdout].Dropped != all {
					t.Errorf("%s: %d of %d lines, loss %v", who, len(p.Lines), all, p.Loss)
				}
				if fits := length < asideSize/2; fits != (len(p.Lines) > 0) {
					t.Errorf("%s: %d lines", who, len(p.Lines))
				}
				if n := len(p.Lines); n > 0 && !strings.HasPrefix(p.Lines[n-1].Text, "29 x") {
					t.Errorf("%s: the last is %.10s", who, p.Lines[n-1].Text)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, asideName)); !os.IsNotExist(err) {
				t.Errorf("what was set aside: %v", err)
			}
		})
	}
}

// A journal that was written whole and only cannot be written anew ends where it
// is.
func TestEndWithoutRoomForAnother(t *testing.T) {
	dir := t.TempDir()
	x := newWriter(t, dir, 1<<20)
	x.say(job.Stdout, "one\n")
	x.w.Record(job.Snapshot{ID: "x", State: job.Exited, Ended: time.Now()})
	if err := os.Mkdir(journalPath(dir, 2)+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := x.w.end(); err != nil {
		t.Fatal(err)
	}
	s := newSide()
	drained(t, &reader{dir: dir, to: s}, true)
	same(t, s, x.side)
	if _, err := os.Stat(filepath.Join(dir, asideName)); !os.IsNotExist(err) {
		t.Errorf("what was set aside: %v", err)
	}
}
