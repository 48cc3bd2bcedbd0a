//go:build darwin || windows

package sys_test

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// hang bounds a wait that is expected to end at once on an idle machine.
const hang = 30 * time.Second

// command describes a helper, without its descriptors.
func command(helper string, args ...string) sys.Spec {
	path, argv, env := systest.Command(helper, args...)
	return sys.Spec{Path: path, Argv: argv, Env: env, Dir: filepath.Dir(path)}
}

// running is a started helper whose output is read.
type running struct {
	sys.Tree
	out  *sys.PipeReader
	text *bufio.Scanner
	in   *os.File // closing it ends children that wait
}

func host(t *testing.T) sys.Host {
	t.Helper()
	return systest.Host(t, sys.HostOptions{})
}

func launch(t *testing.T, h sys.Host, sp sys.Spec) *running {
	t.Helper()
	r, w, err := sys.NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sp.Stdio = [3]*os.File{inR, w, w}
	tree, err := h.Start(t.Context(), sp)
	w.Close()
	inR.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		inW.Close()
		if err := tree.Release(); err != nil {
			t.Errorf("release: %v", err)
		}
		r.Close()
	})
	return &running{tree, r, bufio.NewScanner(r), inW}
}

func within(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(hang):
		t.Fatalf("%s: not within %v", what, hang)
	}
}
