//go:build unix

package detach

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// A directory that others could put another in the place of is refused by name,
// by whoever detaches, adopts or looks.
func TestUnsafePlace(t *testing.T) {
	chmod := func(mode os.FileMode) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(t *testing.T, dir string) {
		real := filepath.Join(t.TempDir(), "real")
		if err := errors.Join(os.Rename(dir, real), os.Symlink(real, dir)); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		at   string
		make func(*testing.T, string)
		safe bool
	}{
		"state of all":            {"", chmod(0o777), false},
		"state like /tmp":         {"", chmod(os.ModeSticky | 0o777), true},
		"state to be read":        {"", chmod(0o755), true},
		"state linked to":         {"", link, true},
		"all jobs open to others": {"detached", chmod(0o755), false},
		"all jobs linked to":      {"detached", link, false},
		"place open to others":    {"detached/scope", chmod(0o770), false},
		"place linked to":         {"detached/scope", link, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			dir := lay(t, state, "scope", 1, 0, time.Now())
			x := newWriter(t, dir, 1<<20)
			x.w.Record(job.Snapshot{ID: jobID(1), State: job.Exited, Ended: time.Now()})
			if err := x.w.end(); err != nil {
				t.Fatal(err)
			}
			bad := filepath.Join(state, c.at)
			c.make(t, bad)
			if got := (Shelf{State: state}).Jobs(); (len(got) == 1) != c.safe {
				t.Errorf("seen: %v", got)
			}
			p := Open(state, nil, "scope", Starter{Path: filepath.Join(state, "no such program")})
			defer p.Close()
			if got := p.Adopt(""); (len(got) == 1) != c.safe {
				t.Errorf("adopted: %v", got)
			}
			_, err := p.Detach(context.Background(), job.Order{ID: jobID(2), AllowWeaker: true})
			if unsafe := errors.Is(err, sys.ErrUnsafeDir); unsafe == c.safe || unsafe && !strings.Contains(err.Error(), bad) {
				t.Errorf("detached: %v", err)
			}
		})
	}
}

// Whatever lies where a file of a job should, nobody waits for it.
func TestForgedFiles(t *testing.T) {
	for _, name := range []string{"journal.000001", ownerName, supervisorName, lockName} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			dir := lay(t, state, "scope", 1, 10, time.Now())
			path := filepath.Join(dir, name)
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			Shelf{State: state}.Jobs()
			p := open(state)
			defer p.Close()
			for _, o := range p.Adopt("") {
				o.(*owned).endpoint()
				r := &reader{dir: dir, to: newSide()}
				if _, err := r.drain(); err == nil && strings.HasPrefix(name, "journal") {
					t.Error("it was read")
				}
				r.close()
			}
			if _, err := Prune(state); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a journal without end", func(t *testing.T) {
		state := t.TempDir()
		dir := lay(t, state, "scope", 1, 10, time.Now())
		if err := os.Truncate(filepath.Join(dir, "journal.000001"), 1<<40); err != nil {
			t.Skipf("no such file here: %v", err)
		}
		if _, err := (&reader{dir: dir, to: newSide()}).drain(); !errors.Is(err, errFrame) {
			t.Errorf("%v", err)
		}
	})
}
