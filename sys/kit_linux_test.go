package sys_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// hang is how long a test waits for what must come; it is no measurement.
const hang = 30 * time.Second

// everyRung is every way to contain a tree here, the strongest first.
var everyRung = []sys.Mechanism{sys.PIDNamespace, sys.CgroupV2, sys.Subreaper, sys.ProcessGroup}

// newHost gives a host whose control groups the leak check sees.
func newHost(t testing.TB, m sys.Mechanism) sys.Host {
	t.Helper()
	return systest.Host(t, sys.HostOptions{Parent: parentOfTests(), Mechanism: m})
}

// needs skips where the host cannot do the mechanism, and says why.
func needs(t testing.TB, h sys.Host, m sys.Mechanism) {
	t.Helper()
	for _, r := range h.Probe(t.Context()).Rungs {
		if r.Mechanism == m && !r.Usable {
			t.Skipf("%s is not usable here: %s", m, r.Reason)
		}
	}
}

// run is one started helper with what it wrote.
type run struct {
	sys.Tree
	lines chan string
}

// specOf describes a helper whose output goes to w.
func specOf(t testing.TB, w *os.File, env []string, name string, args ...string) sys.Spec {
	t.Helper()
	path, argv, base := systest.Command(name, args...)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	return sys.Spec{Path: path, Argv: argv, Env: append(base, env...), Dir: "/", Stdio: [3]*os.File{null, w, w}}
}

// start starts a helper; the test's end releases it.
func start(t testing.TB, h sys.Host, env []string, name string, args ...string) *run {
	t.Helper()
	return startSpec(t, h, func(w *os.File) sys.Spec { return specOf(t, w, env, name, args...) })
}

// program starts a program by its path.
func program(t testing.TB, h sys.Host, argv ...string) *run {
	t.Helper()
	return startSpec(t, h, func(w *os.File) sys.Spec {
		sp := specOf(t, w, nil, "exit", "0")
		sp.Path, sp.Argv = argv[0], argv
		return sp
	})
}

func startSpec(t testing.TB, h sys.Host, spec func(w *os.File) sys.Spec) *run {
	t.Helper()
	r, w, err := sys.NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := h.Start(t.Context(), spec(w))
	w.Close()
	if err != nil {
		r.Close()
		t.Fatal(err)
	}
	out := &run{Tree: tree, lines: make(chan string, 1024)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(out.lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			out.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hang)
		defer cancel()
		if _, err := tree.Kill(ctx); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Errorf("kill: %v", err)
		}
		if err := tree.Release(); err != nil {
			t.Errorf("release: %v", err)
		}
		r.Close()
		for range out.lines {
		}
		<-read
	})
	return out
}

// line waits for the next line of output.
func (r *run) line(t testing.TB) string {
	t.Helper()
	select {
	case s, ok := <-r.lines:
		if !ok {
			t.Fatalf("the output ended: %+v", r.Exit())
		}
		return s
	case <-time.After(hang):
		t.Fatal("no line of output")
	}
	return ""
}

// all reads the output to its end.
func (r *run) all(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for {
		select {
		case s, ok := <-r.lines:
			if !ok {
				return b.String()
			}
			b.WriteString(s + "\n")
		case <-time.After(hang):
			t.Fatal("the output does not end")
		}
	}
}

func wait(t testing.TB, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(hang):
		t.Fatalf("%s: waited in vain", what)
	}
}

// tokenVariable marks the processes of one tree.
const tokenVariable = "BELFRY_TEST_TOKEN="

// newToken is a variable that marks a tree and nothing else. Its value is the
// tree's leash: what runs away stops when the file is gone.
func newToken(t testing.TB) string {
	t.Helper()
	leash := filepath.Join(t.TempDir(), rand.Text())
	if err := os.WriteFile(leash, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return tokenVariable + leash
}

// leashOf is the file of a token.
func leashOf(token string) string { return strings.TrimPrefix(token, tokenVariable) }

// gone waits until no process has the token.
func gone(t testing.TB, token string) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; {
		left := survivors(token)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%d survivors after %v: %v", len(left), hang, left)
			sweep(t, token)
			return
		}
	}
}

// survivors looks several times before it says that nobody is left: a process
// shows no environment while it is between two programs.
func survivors(token string) []systest.Found {
	for range 4 {
		if left := systest.Survivors(token); len(left) != 0 {
			return left
		}
		time.Sleep(3 * time.Millisecond)
	}
	return nil
}

// sweep ends a hostile tree by its token, for the rungs that cannot.
func sweep(t testing.TB, token string) {
	t.Helper()
	if err := os.Remove(leashOf(token)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for deadline := time.Now().Add(hang); ; {
		left := survivors(token)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("cannot end %v", left)
		}
		for _, p := range left {
			if proc, err := os.FindProcess(p.PID); err == nil {
				proc.Kill()
				proc.Release()
			}
		}
	}
}

// rounds is how often a test repeats what must never fail: n times when
// BELFRY_ROUNDS is 100, that many of a hundred of it otherwise, and a few times
// when it is not set.
func rounds(t testing.TB, n int) int {
	t.Helper()
	v := os.Getenv("BELFRY_ROUNDS")
	if v == "" {
		return min(n, max(n/50, 2))
	}
	percent, err := strconv.Atoi(v)
	if err != nil || percent < 1 {
		t.Fatalf("BELFRY_ROUNDS=%q is not a positive number", v)
	}
	return max(n*percent/100, 1)
}

// endThread runs f on a thread that ends with the calling goroutine.
func endThread(f func()) {
	runtime.LockOSThread()
	f()
}

var ctxForever = context.Background()

func nullFile(t testing.TB) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	t.Cleanup(func() { f.Close() })
	return f, err
}
