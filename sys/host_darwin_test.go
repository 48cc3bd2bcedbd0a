package sys_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("mac-group", macGroup)
	systest.Register("mac-host", macHost)
	systest.Register("mac-ignores", macIgnores)
	systest.Register("mac-nohup", macNohup)
}

// macIgnores tells by its status whether it was started to ignore signals.
func macIgnores([]string) int {
	if signal.Ignored(syscall.SIGHUP) || signal.Ignored(syscall.SIGINT) {
		return 1
	}
	return 0
}

// macNohup is a supervisor that ends as its leader does.
func macNohup([]string) int {
	if !signal.Ignored(syscall.SIGHUP) {
		return 3 // the test's own premise
	}
	h, err := sys.NewHost(sys.HostOptions{})
	if err != nil {
		return 4
	}
	sp := command("mac-ignores")
	sp.Stdio = [3]*os.File{os.Stdin, os.Stdout, os.Stderr}
	t, err := h.Start(context.Background(), sp)
	if err != nil {
		return 5
	}
	<-t.Empty()
	return t.Exit().Code
}

// macGroup starts a child in its group and one in a session of its own, writes
// their numbers and "ready", and waits for the end of its input.
func macGroup([]string) int {
	for _, session := range []bool{false, true} {
		path, argv, env := systest.Command("cat")
		c := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin,
			SysProcAttr: &syscall.SysProcAttr{Setsid: session}}
		if err := c.Start(); err != nil {
			fmt.Println("error", err)
			return 1
		}
		verb := "pid"
		if session {
			verb = "session"
		}
		fmt.Println(verb, c.Process.Pid)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// macHost is a supervisor of one such group that is to be killed.
func macHost([]string) int {
	h, err := sys.NewHost(sys.HostOptions{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	sp := command("mac-group")
	sp.Stdio = [3]*os.File{os.Stdin, os.Stdout, os.Stderr}
	t, err := h.Start(context.Background(), sp)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	if g := t.Guarantee(); g.SupervisorDeath != sys.ScopeGroup {
		fmt.Println("error: guarantee", g)
		return 1
	}
	fmt.Println("leader", t.Leader().PID)
	select {}
}

// numbers reads lines until "ready" was there, and n numbers of processes in the
// leader's group, "pid N" or "leader N".
func numbers(t *testing.T, lines *bufio.Scanner, n int) []int {
	t.Helper()
	var list []int
	for ready := false; !ready || len(list) < n; {
		if !lines.Scan() {
			t.Fatalf("no more output: %v", lines.Err())
		}
		verb, number, _ := strings.Cut(lines.Text(), " ")
		switch pid, err := strconv.Atoi(number); {
		case verb == "ready":
			ready = true
		case err == nil && (verb == "pid" || verb == "leader"):
			list = append(list, pid)
		case err == nil && verb == "session":
		default:
			t.Fatalf("child says %q", lines.Text())
		}
	}
	return list
}

// gone waits until the process is not there any more.
func gone(t *testing.T, h sys.Host, id sys.ID) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; {
		now, err := h.Lookup(id.PID)
		if err != nil || now.Same(id) == sys.No {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v is still there", now)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestKillReachesGroupAndAncestry(t *testing.T) {
	h := host(t)
	r := launch(t, h, command("mac-group"))
	numbers(t, r.text, 1)
	members, how := r.Members()
	if how != sys.GroupOnly || len(members) != 3 {
		t.Errorf("members %+v, %v", members, how)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	k, err := r.Kill(ctx)
	if err != nil || k.Proof != sys.ProofGroupScan || len(k.Survivors) != 0 {
		t.Fatalf("kill: %+v, %v", k, err)
	}
	if e := r.Exit(); e.Signal != sys.SIGKILL {
		t.Errorf("exit %+v", e)
	}
	for _, m := range members {
		if m.ID.PID != r.Leader().PID {
			gone(t, h, m.ID)
		}
	}
}

func TestZombieIsHeldUntilRelease(t *testing.T) {
	r := launch(t, host(t), command("exit", "7"))
	within(t, "the leader's end", r.Exited())
	if e := r.Exit(); e.Code != 7 || e.Signal != 0 || e.At.IsZero() {
		t.Errorf("exit %+v", e)
	}
	within(t, "emptiness", r.Empty())
	if err := syscall.Kill(r.Leader().PID, 0); err != nil {
		t.Errorf("the leader's number was given back: %v", err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(r.Leader().PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("after the release: %v", err)
	}
	if u := r.Usage(); u.CPU <= 0 || u.PeakMemory <= 0 {
		t.Errorf("usage after the release %+v", u)
	}
}

func TestMembersOutliveTheLeader(t *testing.T) {
	r := launch(t, host(t), command("mac-group"))
	numbers(t, r.text, 1)
	if err := syscall.Kill(r.Leader().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	within(t, "the leader's end", r.Exited())
	select {
	case <-r.Empty():
		t.Error("empty while a member of the group waits for its input")
	case <-time.After(50 * time.Millisecond):
	}
	r.in.Close()
	within(t, "emptiness", r.Empty())
}

func TestSoftStopReachesAStoppedLeader(t *testing.T) {
	r := launch(t, host(t), command("on-term", "bye"))
	numbers(t, r.text, 0)
	if _, err := r.Signal(sys.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(hang); !r.Stopped(); {
		if time.Now().After(deadline) {
			t.Fatal("never stopped")
		}
		<-time.After(time.Millisecond)
	}
	if d, err := r.Signal(sys.SIGTERM); err != nil || d.Sent != 1 {
		t.Errorf("SIGTERM: %+v, %v", d, err)
	}
	if !r.text.Scan() || r.text.Text() != "bye" {
		t.Errorf("last word %q, %v", r.text.Text(), r.text.Err())
	}
	within(t, "emptiness", r.Empty())
}

func TestOwnSignal(t *testing.T) {
	r := launch(t, host(t), command("die-by", "15"))
	within(t, "the leader's end", r.Exited())
	if e := r.Exit(); e.Signal != sys.SIGTERM || e.Code != 0 {
		t.Errorf("exit %+v", e)
	}
}

func TestSupervisorKilled(t *testing.T) {
	h := host(t)
	path, argv, env := systest.Command("mac-host")
	in, hold, err := os.Pipe() // stays open meanwhile, so that nobody ends by its input
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	c := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: in}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	var ids []sys.ID
	for _, pid := range numbers(t, bufio.NewScanner(out), 2) {
		id, err := h.Lookup(pid)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // "signal: killed"
	// The one that left the group is out of the guardian's reach, and ends with
	// its input.
	for _, id := range ids {
		gone(t, h, id)
	}
}

func TestIgnoredSignalsDoNotReachJobs(t *testing.T) {
	systest.Command("mac-ignores") // used by the other
	path, argv, env := systest.Command("mac-nohup")
	c := exec.Command("/bin/sh", append([]string{"-c", `trap "" HUP INT; exec "$0" "$@"`, path}, argv[1:]...)...)
	c.Env = env
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
}

func TestStartRefuses(t *testing.T) {
	h := host(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty, plain := script("empty", "", 0o700), script("plain", "echo", 0o600)
	lost := script("lost", "#!/no/such/interpreter\n", 0o700)
	for name, tt := range map[string]struct {
		change func(*sys.Spec)
		want   sys.Code
	}{
		"no such directory": {func(s *sys.Spec) { s.Dir = dir + "/missing" }, sys.CodeCwdMissing},
		"not a directory":   {func(s *sys.Spec) { s.Dir = plain }, sys.CodeCwdNotDirectory},
		"no such program":   {func(s *sys.Spec) { s.Path = dir + "/missing" }, sys.CodeNotFound},
		"no execute bit":    {func(s *sys.Spec) { s.Path = plain }, sys.CodeNotExecutable},
		"a directory":       {func(s *sys.Spec) { s.Path = dir }, sys.CodeNotExecutable},
		"empty":             {func(s *sys.Spec) { s.Path = empty }, sys.CodeBadFormat},
		"no interpreter":    {func(s *sys.Spec) { s.Path = lost }, sys.CodeInterpreterMissing},
		"too long":          {func(s *sys.Spec) { s.Argv = append(s.Argv, strings.Repeat("x", 2<<20)) }, sys.CodeArgumentsTooLong},
		"another file":      {func(s *sys.Spec) { s.Approved = sys.FileStamp{Size: 1} }, sys.CodeChanged},
		"a container":       {func(s *sys.Spec) { s.Want = sys.LevelTree }, sys.CodeContainmentUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			sp := command("exit", "0")
			sp.Stdio = [3]*os.File{null, null, null}
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
}

func TestProbeByDoing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	r := host(t).Probe(ctx)
	if r.Best != sys.ProcessGroup || len(r.Rungs) != 1 || r.Rungs[0].Guarantee.SupervisorDeath != sys.ScopeGroup {
		t.Errorf("%+v", r)
	}
}
