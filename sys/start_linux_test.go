package sys_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// write makes a file of the given mode for a case.
func write(t *testing.T, mode os.FileMode, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

// foreignELF is the head of a program for another machine.
func foreignELF() []byte {
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	b[16], b[18] = 2, 22 // ET_EXEC, s390x (in a little-endian file: for nobody)
	return b
}

func TestStartErrors(t *testing.T) {
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	lostLoader := bytes.Replace(must(os.ReadFile("/bin/true")), []byte("/lib64/ld-linux"), []byte("/lib64/no-linux"), 1)
	cases := []struct {
		name string
		spec func(t *testing.T, sp *sys.Spec)
		code sys.Code
		text string // part of the message
	}{
		{"no such program", func(t *testing.T, sp *sys.Spec) { sp.Path = "/nonexistent/x" }, sys.CodeNotFound, "/nonexistent/x: no such file"},
		{"below a file", func(t *testing.T, sp *sys.Spec) { sp.Path = "/etc/passwd/x" }, sys.CodeNotFound, "no such file"},
		{"no x bit", func(t *testing.T, sp *sys.Spec) { sp.Path = write(t, 0o644, own[:0]) }, sys.CodeNotExecutable, "has no execute bit"},
		{"a directory", func(t *testing.T, sp *sys.Spec) { sp.Path = "/tmp" }, sys.CodeNotExecutable, "is a directory"},
		{"a device", func(t *testing.T, sp *sys.Spec) { sp.Path = os.DevNull }, sys.CodeNotExecutable, "is not a regular file"},
		{"a fifo", func(t *testing.T, sp *sys.Spec) { sp.Path = fifo(t) }, sys.CodeNotExecutable, "is not a regular file"},
		{"an empty file", func(t *testing.T, sp *sys.Spec) { sp.Path = write(t, 0o755, nil) }, sys.CodeBadFormat, "is an empty file"},
		{"plain text", func(t *testing.T, sp *sys.Spec) { sp.Path = write(t, 0o755, []byte("echo hi\n")) }, sys.CodeBadFormat, "is neither a program nor a script"},
		{"another machine", func(t *testing.T, sp *sys.Spec) { sp.Path = write(t, 0o755, foreignELF()) }, sys.CodeBadFormat, "is a program for s390x; this machine is " + runtime.GOARCH},
		{"no interpreter", func(t *testing.T, sp *sys.Spec) { sp.Path = write(t, 0o755, []byte("#!/no/such/sh -e\n")) }, sys.CodeInterpreterMissing, "its interpreter /no/such/sh does not exist"},
		{"a carriage return", func(t *testing.T, sp *sys.Spec) { sp.Path = write(t, 0o755, []byte("#!/bin/sh\r\necho\r\n")) }, sys.CodeInterpreterMissing, `its interpreter "/bin/sh\r" does not exist`},
		{"an empty #! line", func(t *testing.T, sp *sys.Spec) { sp.Path = write(t, 0o755, []byte("#!\n")) }, sys.CodeBadFormat, "its #! line names no interpreter"},
		{"a lost loader", func(t *testing.T, sp *sys.Spec) { sp.Path = write(t, 0o755, lostLoader) }, sys.CodeInterpreterMissing, "its interpreter /lib64/no-linux"},
		{"no directory", func(t *testing.T, sp *sys.Spec) { sp.Dir = "/nonexistent" }, sys.CodeCwdMissing, "/nonexistent: no such directory"},
		{"a file as directory", func(t *testing.T, sp *sys.Spec) { sp.Dir = "/etc/passwd" }, sys.CodeCwdNotDirectory, "is not a directory"},
		{"one long argument", func(t *testing.T, sp *sys.Spec) { sp.Argv = []string{"x", strings.Repeat("a", 131072)} }, sys.CodeArgumentsTooLong, "is 131073 bytes long; the kernel takes 131072"},
		{"many arguments", func(t *testing.T, sp *sys.Spec) {
			sp.Argv = strings.Fields(strings.Repeat(strings.Repeat("a", 99999)+" ", 80))
		}, sys.CodeArgumentsTooLong, "arguments and environment take 8000"},
		{"a NUL", func(t *testing.T, sp *sys.Spec) { sp.Argv = []string{"x", "a\x00b"} }, sys.CodeNulInArgument, "NUL byte"},
		{"a NUL in the environment", func(t *testing.T, sp *sys.Spec) { sp.Env = []string{"A=\x00"} }, sys.CodeNulInArgument, "NUL byte"},
		{"a NUL in the directory", func(t *testing.T, sp *sys.Spec) { sp.Dir = "/\x00" }, sys.CodeNulInArgument, "NUL byte"},
		{"a relative path", func(t *testing.T, sp *sys.Spec) { sp.Path = "true" }, sys.CodeSpawn, "is not an absolute path"},
		{"no arguments", func(t *testing.T, sp *sys.Spec) { sp.Argv = nil }, sys.CodeSpawn, "has no argument list"},
		{"no descriptor", func(t *testing.T, sp *sys.Spec) { sp.Stdio[1] = nil }, sys.CodeSpawn, "descriptor 1 was not given"},
		{"strict", func(t *testing.T, sp *sys.Spec) { sp.Want = sys.LevelStrict }, sys.CodeContainmentUnavailable, "accept a weaker one"},
	}
	for _, m := range []sys.Mechanism{sys.CgroupV2, sys.ProcessGroup} {
		h := newHost(t, m)
		for _, c := range cases {
			t.Run(string(m)+"/"+c.name, func(t *testing.T) {
				needs(t, h, m)
				null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
				defer null.Close()
				sp := sys.Spec{Path: "/bin/true", Argv: []string{"true"}, Dir: "/", Stdio: [3]*os.File{null, null, null}}
				c.spec(t, &sp)
				tree, err := h.Start(t.Context(), sp)
				if err == nil {
					tree.Release()
					t.Fatal("it started")
				}
				se, ok := errors.AsType[*sys.StartError](err)
				if !ok {
					t.Fatalf("%T: %v", err, err)
				}
				if se.Code != c.code || !strings.Contains(se.Error(), c.text) {
					t.Errorf("code %s, %q; want %s, %q", se.Code, se.Error(), c.code, c.text)
				}
			})
		}
		if dir := sys.ContainersOf(h); dir != "" {
			left := must(filepath.Glob(dir + "/*/cgroup.procs"))
			if len(left) != 0 {
				t.Errorf("failed starts left %v", left)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func fifo(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestFileBusy(t *testing.T) {
	h := newHost(t, "")
	name := write(t, 0o755, must(os.ReadFile("/bin/true")))
	w := must(os.OpenFile(name, os.O_WRONLY, 0))
	defer w.Close()
	null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	defer null.Close()
	sp := sys.Spec{Path: name, Argv: []string{"true"}, Dir: "/", Stdio: [3]*os.File{null, null, null}}
	tree, err := h.Start(t.Context(), sp)
	if err == nil {
		tree.Release()
		t.Skip("this kernel lets a program run that is open for writing")
	}
	if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != sys.CodeFileBusy {
		t.Errorf("%v", err)
	}
	// A writer that leaves meanwhile is waited for.
	time.AfterFunc(20*time.Millisecond, func() { w.Close() })
	tree, err = h.Start(t.Context(), sp)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "empty", tree.Empty())
	tree.Release()
}

// TestUnreadable runs a program that may be executed and not read.
func TestUnreadable(t *testing.T) {
	h := newHost(t, "")
	r := program(t, h, write(t, 0o711, must(os.ReadFile("/bin/true"))))
	wait(t, "exited", r.Exited())
	if e := r.Exit(); e.Code != 0 || e.Signal != 0 {
		t.Errorf("%+v", e)
	}
}

func TestStartCancelled(t *testing.T) {
	h := newHost(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	defer null.Close()
	tree, err := h.Start(ctx, sys.Spec{Path: "/bin/true", Argv: []string{"true"}, Dir: "/", Stdio: [3]*os.File{null, null, null}})
	if err == nil {
		// The look was over before the cancellation was seen: a whole start.
		wait(t, "empty", tree.Empty())
		tree.Release()
	} else if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestClosedHost(t *testing.T) {
	h := newHost(t, "")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	defer null.Close()
	_, err := h.Start(t.Context(), sys.Spec{Path: "/bin/true", Argv: []string{"true"}, Dir: "/", Stdio: [3]*os.File{null, null, null}})
	if err == nil {
		t.Error("a closed host starts")
	}
}

// TestApproved: what was approved is what runs.
func TestApproved(t *testing.T) {
	h := newHost(t, "")
	name := write(t, 0o755, must(os.ReadFile("/bin/sleep")))
	approved := must(sys.Stamp(name))
	null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	defer null.Close()
	sp := sys.Spec{Path: name, Argv: []string{"sleep", "60"}, Dir: "/", Stdio: [3]*os.File{null, null, null}, Approved: approved}
	tree, err := h.Start(t.Context(), sp)
	if err != nil {
		t.Fatal(err)
	}
	pid := tree.Leader().PID
	if sys.RanAnother(pid, name, approved) {
		t.Error("the approved program counts as another")
	}
	other := approved
	other.Inode++
	if !sys.RanAnother(pid, name, other) {
		t.Error("another program under the approved name counts as approved")
	}
	if sys.RanAnother(pid, "/somewhere/else", other) {
		t.Error("a program that put another in its place counts as a mismatch")
	}
	if _, err := tree.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	tree.Release()

	if err := os.Chtimes(name, time.Now(), time.Now()); err != nil { // changes the change time alone
		t.Fatal(err)
	}
	for way, begin := range map[string]func() (sys.Tree, error){
		"direct":     func() (sys.Tree, error) { return h.Start(t.Context(), sp) },
		"trampoline": func() (sys.Tree, error) { return sys.StartSlow(h, sp) },
	} {
		tree, err := begin()
		if err == nil {
			tree.Kill(t.Context())
			tree.Release()
			t.Errorf("%s: a changed program was started", way)
			continue
		}
		if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != sys.CodeChanged {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// TestTrampoline: the program takes the trampoline's place, and its errors are
// those of a direct start.
func TestTrampoline(t *testing.T) {
	h := newHost(t, "")
	r := startSpec(t, slow{h}, func(w *os.File) sys.Spec {
		sp := specOf(t, w, []string{"BELFRY_TEST=1"}, "env", "BELFRY_TEST")
		sp.Dir = "/tmp"
		return sp
	})
	if out := r.all(t); out != "BELFRY_TEST=1\n" {
		t.Errorf("%q", out)
	}
	wait(t, "empty", r.Empty())
	null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	defer null.Close()
	base := sys.Spec{Argv: []string{"x"}, Dir: "/", Stdio: [3]*os.File{null, null, null}}
	for path, code := range map[string]sys.Code{
		write(t, 0o755, nil):          sys.CodeBadFormat,
		write(t, 0o755, foreignELF()): sys.CodeBadFormat,
	} {
		sp := base
		sp.Path = path
		_, err := sys.StartSlow(h, sp)
		if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != code {
			t.Errorf("%v, want %s", err, code)
		}
	}
	sp := base
	sp.Path, sp.Argv = "/bin/true", []string{"x", strings.Repeat("a", 140000)}
	_, err := sys.StartSlow(h, sp)
	if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != sys.CodeArgumentsTooLong {
		t.Errorf("%v", err)
	}
}

// slow starts everything through the trampoline.
type slow struct{ sys.Host }

func (s slow) Start(_ context.Context, sp sys.Spec) (sys.Tree, error) {
	return sys.StartSlow(s.Host, sp)
}
