package sys_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	// Says what it finds on the readiness descriptor, then waits for its end.
	systest.Register("detach-ready", func([]string) int {
		var value string
		for _, kv := range os.Environ() {
			if v, ok := strings.CutPrefix(kv, "TEST_READY="); ok {
				value = v
			}
		}
		f := sys.ReadyFile(value)
		if f == nil {
			return 3
		}
		sys.CloseInherited(f)
		if _, err := io.WriteString(f, "ready\n"); err != nil {
			return 4
		}
		f.Close()
		<-time.After(time.Minute)
		return 0
	})
	// Starts a process in its own session and one in another, then waits.
	systest.Register("detach-family", func([]string) int {
		path, argv, env := systest.Command("sleep")
		if _, err := sys.StartDetached(sys.Detached{Path: path, Argv: argv, Env: env}); err != nil {
			return 3
		}
		if err := exec.Command(path, argv[1:]...).Start(); err != nil {
			return 4
		}
		io.WriteString(os.Stdout, "ready\n")
		<-time.After(time.Minute)
		return 0
	})
}

// patience bounds every wait for what must happen.
const patience = 30 * time.Second

func startDetached(t *testing.T, ready *os.File, helper string, args ...string) *sys.Child {
	t.Helper()
	path, argv, env := systest.Command(helper, args...)
	c, err := sys.StartDetached(sys.Detached{Path: path, Argv: argv, Env: env, Dir: t.TempDir(), Ready: ready, ReadyVar: "TEST_READY"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Kill(ctx); err != nil {
			t.Error(err)
		}
		<-c.Exited()
	})
	return c
}

func TestDetachedSaysReady(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := startDetached(t, w, "detach-ready")
	w.Close()
	said, err := io.ReadAll(r)
	if err != nil || string(said) != "ready\n" {
		t.Fatalf("read %q, %v", said, err)
	}
	if got := c.ID().Alive(); got != sys.Yes {
		t.Errorf("the child is alive: %v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := sys.EndProcess(ctx, c.ID()); err != nil {
		t.Fatal(err)
	}
	<-c.Exited()
	if got := c.ID().Alive(); got != sys.No {
		t.Errorf("after its end it is alive: %v", got)
	}
	if err := sys.EndProcess(ctx, c.ID()); !errors.Is(err, sys.ErrNoProcess) {
		t.Errorf("ending it again: %v", err)
	}
}

func TestDetachedTellsItsExit(t *testing.T) {
	c := startDetached(t, nil, "exit", "7")
	<-c.Exited()
	if e := c.Exit(); e.Code != 7 || e.Signal != 0 {
		t.Errorf("exit %+v", e)
	}
}

// A pipe that the starter merely holds ends with the starter, and not with
// what it started.
func TestDetachedInheritsNothingElse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the helper lists its descriptors on Linux only")
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	path, argv, env := systest.Command("fdlist")
	c, err := sys.StartDetached(sys.Detached{Path: path, Argv: argv, Env: env, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	<-c.Exited()
	got, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(got)) {
		if strings.HasPrefix(line, "3") {
			t.Errorf("a descriptor from 3 up: %q", got)
		}
	}
	if len(got) == 0 {
		t.Error("nothing was listed")
	}
}

func TestEndProcessEndsDescendants(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path, argv, env := systest.Command("detach-family")
	c, err := sys.StartDetached(sys.Detached{Path: path, Argv: argv, Env: env, Output: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	var said [6]byte
	if _, err := io.ReadFull(r, said[:]); err != nil {
		t.Fatal(err)
	}
	kids := childrenOf(t, c.ID().PID)
	if len(kids) != 2 {
		t.Fatalf("the tree has children %v", kids)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := sys.EndProcess(ctx, c.ID()); err != nil {
		t.Fatal(err)
	}
	for _, id := range kids {
		if id.Alive() == sys.Yes {
			t.Errorf("process %d outlived its tree", id.PID)
		}
	}
	<-c.Exited()
}

func childrenOf(t *testing.T, pid int) []sys.ID {
	t.Helper()
	all, err := sys.Processes()
	if err != nil {
		t.Fatal(err)
	}
	var kids []sys.ID
	for _, p := range all {
		if p.PPID == pid {
			id, err := sys.Identify(p.ID.PID)
			if err != nil {
				continue
			}
			kids = append(kids, id)
		}
	}
	return kids
}

// A number that names another process now is never signalled.
func TestEndProcessSparesAnotherOfTheNumber(t *testing.T) {
	c := startDetached(t, nil, "sleep")
	other := c.ID()
	other.Birth++
	other.Unique = 0
	if err := sys.EndProcess(t.Context(), other); !errors.Is(err, sys.ErrNoProcess) {
		t.Errorf("ending a process of the past: %v", err)
	}
	if err := sys.EndProcess(t.Context(), sys.ID{PID: other.PID}); !errors.Is(err, sys.ErrNoProcess) {
		t.Errorf("ending by a bare number: %v", err)
	}
	if c.ID().Alive() != sys.Yes {
		t.Error("it was ended")
	}
}
