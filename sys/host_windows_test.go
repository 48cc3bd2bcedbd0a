package sys_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("win-wait", winWait)
	systest.Register("win-tree", winTree)
	systest.Register("win-host", winHost)
}

// winWait writes "ready" and waits for the end of its input.
func winWait([]string) int {
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 7
}

// winTree starts a plain child and one that detaches itself from everything,
// writes "ready" when they are up, and then leaves or waits.
func winTree(args []string) int {
	const detached = 0x8 // DETACHED_PROCESS
	for _, flags := range []uint32{0, syscall.CREATE_NEW_PROCESS_GROUP | detached} {
		path, argv, env := systest.Command("win-wait")
		c := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin,
			SysProcAttr: &syscall.SysProcAttr{CreationFlags: flags}}
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err == nil {
			_, err = bufio.NewReader(out).ReadString('\n')
		}
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
	fmt.Println("ready")
	if args[0] == "leave" {
		return 9
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// winHost is a supervisor of one tree that is to be killed.
func winHost([]string) int {
	h, err := sys.NewHost(sys.HostOptions{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	sp := command("win-tree", "stay")
	sp.Stdio = [3]*os.File{os.Stdin, os.Stdout, os.Stdout}
	if _, err := h.Start(context.Background(), sp); err != nil {
		fmt.Println("error", err)
		return 1
	}
	select {}
}

func (r *running) ready(t *testing.T) {
	t.Helper()
	if !r.text.Scan() || strings.TrimSpace(r.text.Text()) != "ready" {
		t.Fatalf("child says %q, %v", r.text.Text(), r.text.Err())
	}
}

func TestKillEndsTheTree(t *testing.T) {
	h := host(t)
	r := launch(t, h, command("win-tree", "stay"))
	r.ready(t)
	members, how := r.Members()
	if how != sys.Exact || len(members) < 3 {
		t.Errorf("members %+v, %v", members, how)
	}
	for _, m := range members {
		if m.Command == "" || m.ID.Kind != sys.BirthFiletime || m.ID.Birth == 0 {
			t.Errorf("member %+v", m)
		}
		if id, err := h.Lookup(m.ID.PID); err != nil || id.Same(m.ID) != sys.Yes {
			t.Errorf("lookup of %+v: %+v, %v", m.ID, id, err)
		}
	}
	if g := r.Guarantee(); g.HelperDeath != sys.ScopeTree || g.Mechanism != sys.JobObject {
		t.Errorf("guarantee %+v", g)
	}
	if _, err := r.Signal(sys.SIGHUP); !errors.Is(err, sys.ErrUnsupported) {
		t.Errorf("SIGHUP: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	k, err := r.Kill(ctx)
	if err != nil || k.Proof != sys.ProofJobZero || len(k.Survivors) != 0 {
		t.Fatalf("kill: %+v, %v", k, err)
	}
	within(t, "the leader's end", r.Exited())
	if e := r.Exit(); e.Signal != sys.SIGKILL {
		t.Errorf("exit %+v", e)
	}
	for _, m := range members {
		if id, err := h.Lookup(m.ID.PID); err == nil && id.Same(m.ID) == sys.Yes {
			t.Errorf("%+v lives", m)
		}
	}
	if _, err := io.ReadAll(r.out); err != nil {
		t.Errorf("output after the kill: %v", err)
	}
	if err := r.Release(); err != nil {
		t.Error(err)
	}
	if k, err := r.Kill(ctx); err != nil || k.Proof != sys.ProofJobZero {
		t.Errorf("kill after the end: %+v, %v", k, err)
	}
}

func TestLeaderLeavesMembers(t *testing.T) {
	r := launch(t, host(t), command("win-tree", "leave"))
	r.ready(t)
	within(t, "the leader's end", r.Exited())
	if e := r.Exit(); e.Code != 9 || e.Signal != 0 {
		t.Errorf("exit %+v", e)
	}
	select {
	case <-r.Empty():
		t.Fatal("empty while two members wait for their input")
	default:
	}
	r.in.Close()
	within(t, "emptiness", r.Empty())
	if r.Proof() != sys.ProofJobZero {
		t.Errorf("proof %q", r.Proof())
	}
	if u := r.Usage(); u.CPU < 0 {
		t.Errorf("usage %+v", u)
	}
}

func TestSupervisorKilled(t *testing.T) {
	h := host(t)
	// The supervisor is a member of a tree of ours, but is ended alone.
	r := launch(t, h, command("win-host"))
	r.ready(t)
	members, _ := r.Members()
	if len(members) < 4 {
		t.Fatalf("members %+v", members)
	}
	p, err := os.FindProcess(r.Leader().PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	within(t, "the supervisor's end", r.Exited())
	// Its input stays open, so only the inner job's end can end its members.
	within(t, "the end of the inner tree", r.Empty())
}

func TestStartErrors(t *testing.T) {
	h := host(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	good := command("win-wait")
	good.Stdio = [3]*os.File{null, null, null}
	dir := filepath.Dir(good.Path)
	for name, tt := range map[string]struct {
		change func(*sys.Spec)
		want   sys.Code
	}{
		"no such directory": {func(s *sys.Spec) { s.Dir = filepath.Join(dir, "missing") }, sys.CodeCwdMissing},
		"not a directory":   {func(s *sys.Spec) { s.Dir = s.Path }, sys.CodeCwdNotDirectory},
		"no such program":   {func(s *sys.Spec) { s.Path = filepath.Join(dir, "missing.exe") }, sys.CodeNotFound},
		"a directory":       {func(s *sys.Spec) { s.Path = dir }, sys.CodeNotExecutable},
		"NUL":               {func(s *sys.Spec) { s.Argv = append(s.Argv, "a\x00b") }, sys.CodeNulInArgument},
		"too long":          {func(s *sys.Spec) { s.Argv = append(s.Argv, strings.Repeat("x", 40_000)) }, sys.CodeArgumentsTooLong},
		"another file":      {func(s *sys.Spec) { s.Approved = sys.FileStamp{Size: 1} }, sys.CodeChanged},
	} {
		t.Run(name, func(t *testing.T) {
			sp := good
			sp.Argv = append([]string(nil), good.Argv...)
			tt.change(&sp)
			tree, err := h.Start(t.Context(), sp)
			se, ok := errors.AsType[*sys.StartError](err)
			if !ok || se.Code != tt.want {
				t.Errorf("got %v (%+v), want %s", err, se, tt.want)
			}
			if err == nil {
				tree.Release()
			}
		})
	}
	stamp, err := sys.Stamp(good.Path)
	if err != nil {
		t.Fatal(err)
	}
	approved := command("win-wait")
	approved.Approved = stamp
	r := launch(t, h, approved)
	r.ready(t)
	r.in.Close()
	within(t, "emptiness", r.Empty())
	if e := r.Exit(); e.Code != 7 {
		t.Errorf("exit %+v", e)
	}
}

func TestShellRunsALineAsWritten(t *testing.T) {
	path, argv := sys.Shell(`echo "a b" & exit 5`, os.Getenv("ComSpec"))
	sp := command("win-wait")
	sp.Path, sp.Argv = path, argv
	r := launch(t, host(t), sp)
	if !r.text.Scan() || strings.TrimSpace(r.text.Text()) != `"a b"` {
		t.Errorf("output %q, %v", r.text.Text(), r.text.Err())
	}
	within(t, "emptiness", r.Empty())
	if e := r.Exit(); e.Code != 5 {
		t.Errorf("exit %+v", e)
	}
}

// TestBatchFileGetsTextNotCommands: arguments of a batch file arrive as text,
// and one that cmd.exe would act on starts nothing.
func TestBatchFileGetsTextNotCommands(t *testing.T) {
	script := filepath.Join(t.TempDir(), "say it.cmd")
	if err := os.WriteFile(script, []byte("@echo off\r\necho [%1] [%~2]\r\nexit /b 3\r\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := host(t)
	sp := command("win-wait")
	sp.Path, sp.Argv = script, []string{script, `a b=c`, `d,e;f`}
	r := launch(t, h, sp)
	var lines []string
	for r.text.Scan() {
		lines = append(lines, strings.TrimSpace(r.text.Text()))
	}
	if want := `["a b=c"] [d,e;f]`; len(lines) != 1 || lines[0] != want {
		t.Errorf("output %q, want %q", lines, want)
	}
	within(t, "emptiness", r.Empty())
	if e := r.Exit(); e.Code != 3 {
		t.Errorf("exit %+v", e)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	sp.Argv = []string{script, "fine", `a&echo INJECTED`}
	sp.Stdio = [3]*os.File{null, null, null}
	tree, err := h.Start(t.Context(), sp)
	if err == nil {
		tree.Release()
	}
	if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != sys.CodeSpawn || !strings.Contains(err.Error(), `a&echo INJECTED`) {
		t.Errorf("an argument with a command in it: %v", err)
	}
}

func TestFindExecutableWithExtensions(t *testing.T) {
	system := filepath.Join(os.Getenv("SystemRoot"), "System32")
	got, err := sys.FindExecutable("cmd", `C:\`, `C:\missing;`+system, "")
	if err != nil || !strings.EqualFold(got, filepath.Join(system, "cmd.exe")) {
		t.Errorf("cmd: %q, %v", got, err)
	}
	got, err = sys.FindExecutable(`.\cmd.exe`, system, "", ".EXE")
	if err != nil || !strings.EqualFold(got, filepath.Join(system, "cmd.exe")) {
		t.Errorf(`.\cmd.exe: %q, %v`, got, err)
	}
	_, err = sys.FindExecutable("no-such-command", `C:\`, system, "")
	if se, ok := errors.AsType[*sys.StartError](err); !ok || se.Code != sys.CodeNotFound || !strings.Contains(se.Detail, system) {
		t.Errorf("missing: %v", err)
	}
}

func TestProbeByDoing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	r := host(t).Probe(ctx)
	if r.Best != sys.JobObject || len(r.Rungs) != 1 || !r.Rungs[0].Usable || r.Kernel == "" {
		t.Errorf("%+v", r)
	}
	if len(r.Limits) != 3 {
		t.Errorf("limits %+v", r.Limits)
	}
	for _, l := range r.Limits {
		if l.Enforced != (l.Reason == "") || l.Enforced != (l.Applied != 0) {
			t.Errorf("limit %+v", l)
		}
	}
}

func TestPipeDeadlineAndReadNow(t *testing.T) {
	r, w, err := sys.NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if _, err := r.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read with nothing there: %v", err)
	}
	if _, err := r.ReadNow(b); !errors.Is(err, sys.ErrWouldBlock) {
		t.Errorf("ReadNow with nothing there: %v", err)
	}
	if _, err := w.WriteString("late"); err != nil {
		t.Fatal(err)
	}
	if n, err := r.ReadNow(b); err != nil || string(b[:n]) != "late" {
		t.Errorf("ReadNow: %q, %v", b[:n], err)
	}
	w.Close()
	if _, err := r.ReadNow(b); err != io.EOF {
		t.Errorf("ReadNow at the end: %v", err)
	}
}
