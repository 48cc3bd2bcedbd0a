package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// Changes of one policy at the same moment lose none of each other's entries.
func TestPolicyAllowTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "policy.json")
	const together = 20
	var wg sync.WaitGroup
	for i := range together {
		wg.Go(func() {
			var out, errs bytes.Buffer
			a := &App{Stdout: &out, Stderr: &errs, Env: func(string) string { return "" },
				Args: []string{"policy", "allow", "--policy", file, fmt.Sprintf("program-%d", i)}}
			if status := a.Run(t.Context()); status != exitOK {
				t.Errorf("status %d: %s", status, errs.String())
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := job.ParsePolicy(text, "", "")
	if err != nil || len(p.Allow) != together {
		t.Errorf("%d entries of %d, %v", len(p.Allow), together, err)
	}
}

// refusedAllow runs a policy allow that must fail and gives what it said.
func refusedAllow(t *testing.T, ctx context.Context, file, name string) string {
	t.Helper()
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Env: func(string) string { return "" },
		Args: []string{"policy", "allow", "--policy", file, name}}
	if status := a.Run(ctx); status != exitNo || out.Len() > 0 {
		t.Errorf("status %d, said %q", status, out.String())
	}
	return errs.String()
}

// A change that cannot get the lock says what holds it up and what to do.
func TestPolicyLockIsHeld(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	unlock, err := sys.Lock(t.Context(), file+".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock() // Best effort: nobody waits for it.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	said := refusedAllow(t, ctx, file, "go")
	if !strings.Contains(said, "another change of the policy holds "+file+".lock\n") ||
		!strings.Contains(said, "\nhint: try again") || strings.Contains(said, "deadline") {
		t.Errorf("said %q", said)
	}
}

// A name that the file could not hold as it is changes nothing.
func TestPolicyNameIsUTF8(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	if said := refusedAllow(t, t.Context(), file, "g\xffo"); !strings.Contains(said, `cannot hold "g\xffo": it is not UTF-8`) {
		t.Errorf("said %q", said)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the policy was written: %v", err)
	}
}
