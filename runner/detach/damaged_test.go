package detach

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// warned is a place that keeps what it warns of.
func warned(state string) (*Place, *[]string) {
	var told []string
	p := open(state)
	p.Warn = func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	return p, &told
}

// A file of owners that holds no name, as one of a machine that lost power may,
// is nobody's: its job is taken over.
func TestOwnerWithoutName(t *testing.T) {
	for _, text := range []string{"", "\x00\x00\x00", "..", "a.lock", strings.Repeat("x", 31), newOwner()} {
		state := t.TempDir()
		dir := lay(t, state, "scope", 1, 10, time.Now())
		closePlaces(t, state)
		if err := os.WriteFile(filepath.Join(dir, ownerName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := open(state)
		if got := p.Adopt(""); len(got) != 1 {
			t.Errorf("%q: %v", text, got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// closePlaces makes the directories of lay what a place wants them to be.
func closePlaces(t *testing.T, state string) {
	t.Helper()
	for _, dir := range []string{"detached", "detached/scope"} {
		if err := os.Chmod(filepath.Join(state, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// What keeps a server from a job that an earlier one has left is said, once, with
// the name of what is in the way.
func TestAdoptWarns(t *testing.T) {
	for name, in := range map[string]string{"the lock": placeLock, "owners": ownersDir, "an owner": filepath.Join(jobID(1), ownerName)} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			lay(t, state, "scope", 1, 10, time.Now())
			closePlaces(t, state)
			path := filepath.Join(state, "detached", "scope", in)
			if in == ownersDir { // which a file stands in for
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			} else if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			p, told := warned(state)
			for range 3 {
				if got := p.Adopt(""); got != nil {
					t.Errorf("%v", got)
				}
			}
			if len(*told) != 1 || !strings.Contains((*told)[0], path) {
				t.Errorf("%q", *told)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A journal that cannot be read is told with the folder in which it is.
func TestDamagedJournalWarns(t *testing.T) {
	state := t.TempDir()
	dir := lay(t, state, "scope", 1, 0, time.Now())
	closePlaces(t, state)
	if err := os.WriteFile(filepath.Join(dir, "journal.000001"), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, told := warned(state)
	got := p.Adopt("")
	if len(got) != 1 {
		t.Fatalf("%v", got)
	}
	if err := got[0].Follow(t.Context(), newSide()); err == nil {
		t.Error("it was read")
	}
	if len(*told) != 1 || !strings.Contains((*told)[0], dir) {
		t.Errorf("%q", *told)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A supervisor whose endpoint is not told cannot be asked, and who asks hears of
// the other way to it.
func TestEndpointUntold(t *testing.T) {
	dir := t.TempDir()
	lock, err := sys.CreateLock(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	h := &owned{id: "x", dir: dir}
	if err := os.WriteFile(filepath.Join(dir, supervisorName), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = h.Signal(t.Context(), 15, time.Second)
	if err == nil || !strings.Contains(err.Error(), supervisorName) || !strings.Contains(err.Error(), "belfry kill x") {
		t.Errorf("%v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Signal(t.Context(), 15, time.Second); err != nil {
		t.Errorf("one that has ended: %v", err)
	}
}

// A server that has had an ended job for a while does not make it younger.
func TestAdoptionKeepsAge(t *testing.T) {
	state := t.TempDir()
	now := time.Now()
	lay(t, state, "scope", 1, 10, now.Add(-2*time.Hour))
	lay(t, state, "scope", 2, 10, now)
	closePlaces(t, state)
	for range 2 {
		p := open(state)
		if got := p.Adopt(""); len(got) != 2 {
			t.Fatalf("%v", got)
		}
		if done, err := prune(state, now, time.Hour, maxBytes); err != nil || done.Jobs != 0 {
			t.Errorf("while a server has them: %+v, %v", done, err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := prune(state, now, time.Hour, maxBytes); err != nil || done.Jobs != 1 {
		t.Errorf("%+v, %v", done, err)
	}
}
