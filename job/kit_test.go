package job

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/belfry-dev/belfry/sys"
)

// anyExecutable is a program that the policy of fakeStore allows; no fake
// runs it.
func anyExecutable(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// fakeStore is a store whose every job gets the next of the given trees.
func fakeStore(t *testing.T, c Config, trees ...*fakeTree) (*Store, Spec) {
	t.Helper()
	exe := anyExecutable(t)
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(file, []byte(`{"allow":["`+filepath.ToSlash(exe)+`"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	next := 0
	c.Policy = PolicyFile{Path: file, Origin: "the test"}
	c.Launcher = fakeLauncher{func(sys.Spec) (sys.Tree, error) {
		if next == len(trees) {
			return nil, errors.New("no tree is left")
		}
		next++
		return trees[next-1], nil
	}}
	s, err := NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	return s, Spec{Command: []string{exe}}
}

func mustRun(t *testing.T, s *Store, sp Spec) *Job {
	t.Helper()
	j, err := s.Run(t.Context(), sp)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func isTrue(p *bool) bool { return p != nil && *p }

func isFalse(p *bool) bool { return p != nil && !*p }

// dies is a tree that goes at once when it gets one of the signals.
func dies(on ...sys.Signal) func(*fakeTree, sys.Signal) {
	return func(t *fakeTree, s sys.Signal) {
		if slices.Contains(on, s) {
			t.all(0, s)
		}
	}
}
