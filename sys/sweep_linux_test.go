package sys_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("recorded-supervisor", recordedSupervisor)
	systest.Register("dies-at-step", diesAtStep)
}

// recordedSupervisor runs one hostile tree, or a helper, and keeps a record of it:
// PARENT RECORDS TOKEN [HELPER ARG...]. Without a token it only prepares, as a
// server does.
func recordedSupervisor(args []string) int {
	fail := func(err error) int { fmt.Fprintln(os.Stdout, "error", err); return 1 }
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.CgroupV2, Parent: args[0], Records: args[1]})
	if err != nil {
		return fail(err)
	}
	if len(args) < 3 {
		h.Prepare()
		fmt.Fprintln(os.Stdout, "guardian", 0)
		select {}
	}
	helper := []string{"tree", "stay", leashOf(args[2])}
	if len(args) > 3 {
		helper = args[3:]
	}
	path, argv, env := systest.Command(helper[0], helper[1:]...)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	tree, err := h.Start(ctxForever, sys.Spec{Path: path, Argv: argv, Env: append(env, args[2]),
		Dir: "/", Stdio: [3]*os.File{null, os.Stdout, null}})
	if err != nil {
		return fail(err)
	}
	fmt.Fprintln(os.Stdout, "guardian", guardianOf(sys.ContainersOf(h)), tree.Guarantee().HelperDeath)
	<-tree.Empty()
	return 0
}

// diesAtStep is a host that gets no further than a step of its start: STEP
// RECORDS PARENT.
func diesAtStep(args []string) int {
	step, _ := strconv.Atoi(args[0])
	err := sys.DieAt(step, args[1], args[2], func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})
	fmt.Fprintln(os.Stdout, "error", err)
	return 1
}

// groupFor makes a control group for one test, which is empty at its end.
func groupFor(t *testing.T) string {
	t.Helper()
	if parentOfTests() == "" {
		t.Skip("no control group can be made here")
	}
	dir := filepath.Join(parentOfTests(), "belfry-test-"+rand.Text())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no control group can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Errorf("something was left: %v", err)
		}
	})
	return dir
}

// sweeping is a host that sweeps.
func sweeping(t *testing.T, records string) sys.Host {
	t.Helper()
	h, err := sys.NewHost(sys.HostOptions{Parent: parentOfTests(), Records: records})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func sweepAll(t *testing.T, records string) []sys.SweepResult {
	t.Helper()
	out, err := sweeping(t, records).Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// files are the records in a directory.
func files(t *testing.T, records string) []string {
	t.Helper()
	out, err := filepath.Glob(records + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// recorded starts a supervisor and gives it with its guardian's number.
func recorded(t *testing.T, args ...string) (cmd *exec.Cmd, guardian int) {
	t.Helper()
	return recordedBy(t, nil, args...)
}

// recordedBy starts it by another program.
func recordedBy(t *testing.T, by []string, args ...string) (cmd *exec.Cmd, guardian int) {
	t.Helper()
	path, argv, env := systest.Command("recorded-supervisor", args...)
	cmd = &exec.Cmd{Path: path, Args: argv, Env: env, Stderr: os.Stderr}
	if len(by) > 0 {
		cmd.Path, cmd.Args = by[0], append(append(by, path), argv[1:]...)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var scope string
	ready := len(args) < 3
	told := false
	for lines := bufio.NewScanner(out); !ready || !told; {
		if !lines.Scan() {
			t.Fatalf("the supervisor ended: %v", lines.Err())
		}
		switch line := lines.Text(); {
		case line == "ready" || line == "moved":
			ready = true
		case strings.HasPrefix(line, "guardian "):
			told = true
			if fmt.Sscanf(line, "guardian %d %s", &guardian, &scope); len(args) >= 3 && scope != string(sys.ScopeTreeOnRestart) {
				t.Errorf("the end of the helper reaches %q, want the tree on restart", scope)
			}
		default:
			t.Fatal(line)
		}
	}
	return cmd, guardian
}

// killBoth kills a supervisor and its guardian, so that neither can act.
func killBoth(t *testing.T, cmd *exec.Cmd, guardian int) {
	t.Helper()
	for _, p := range []struct {
		pid int
		sig syscall.Signal
	}{{cmd.Process.Pid, syscall.SIGSTOP}, {guardian, syscall.SIGKILL}, {cmd.Process.Pid, syscall.SIGKILL}} {
		if err := syscall.Kill(p.pid, p.sig); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Wait()
}

// TestSweepEndsOrphans: nobody was left to end the tree, and the next start
// leaves nothing of it.
func TestSweepEndsOrphans(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	for range rounds(t, 50) {
		group, records, token := groupFor(t), filepath.Join(t.TempDir(), "records"), newToken(t)
		cmd, guardian := recorded(t, group, records, token)
		killBoth(t, cmd, guardian)
		if len(survivors(token)) == 0 {
			t.Error("there is nothing to sweep")
		}
		dead := files(t, records)
		if len(dead) != 1 {
			t.Fatalf("records: %v", dead)
		}
		h := sweeping(t, records)
		h.Prepare() // as a starting server does
		gone(t, token)
		for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(dead[0]); os.IsNotExist(err) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is left", dead[0])
			}
		}
	}
}

// TestSweepTells: what is told of each record is what was done.
func TestSweepTells(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group, records, token := groupFor(t), filepath.Join(t.TempDir(), "records"), newToken(t)
	cmd, guardian := recorded(t, group, records, token)
	if got := sweepAll(t, records); len(got) != 1 || got[0].Outcome != sys.SweptLive || !strings.HasPrefix(got[0].Container, group) {
		t.Errorf("of a live one: %+v", got)
	}
	if len(survivors(token)) == 0 {
		t.Fatal("the live one's tree was ended")
	}
	killBoth(t, cmd, guardian)
	if got := sweepAll(t, records); len(got) != 1 || got[0].Outcome != sys.SweptEnded || got[0].Ended == 0 {
		t.Errorf("of a dead one: %+v", got)
	}
	gone(t, token)
	if got := sweepAll(t, records); len(got) != 0 {
		t.Errorf("afterwards: %+v", got)
	}
}

// TestSweepFromAnotherNamespace: the number of a supervisor in another pid
// namespace means somebody else here, or nobody. Its lock means the same.
func TestSweepFromAnotherNamespace(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("no pid namespace can be made here: %v", err)
	}
	group, records, token := groupFor(t), filepath.Join(t.TempDir(), "records"), newToken(t)
	cmd, _ := recordedBy(t, []string{unshare, "--pid", "--fork", "--mount-proc", "--kill-child"}, group, records, token)
	if got := sweepAll(t, records); len(got) != 1 || got[0].Outcome != sys.SweptLive {
		t.Errorf("of a live one: %+v", got)
	}
	if len(survivors(token)) == 0 {
		t.Error("the live one's tree was ended")
	}
	cmd.Process.Kill()
	cmd.Wait()
	until(t, "everything is swept", func() bool { sweepAll(t, records); return len(files(t, records)) == 0 })
	gone(t, token)
}

// TestSweepAtOnce: of many sweeps at once each record is dealt with by one.
func TestSweepAtOnce(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group, records := groupFor(t), filepath.Join(t.TempDir(), "records")
	const dead = 4
	var tokens []string
	for range dead {
		tokens = append(tokens, newToken(t))
		cmd, guardian := recorded(t, group, records, tokens[len(tokens)-1])
		killBoth(t, cmd, guardian)
	}
	var mu sync.Mutex
	outcomes := map[sys.SweepOutcome]int{}
	var all sync.WaitGroup
	for range 4 {
		h := sweeping(t, records)
		all.Go(func() {
			got, err := h.Sweep(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range got {
				outcomes[r.Outcome]++
			}
		})
	}
	all.Wait()
	if outcomes[sys.SweptEnded] != dead || len(outcomes) != 1 {
		t.Errorf("outcomes %v, want %d ended", outcomes, dead)
	}
	for _, token := range tokens {
		gone(t, token)
	}
}

// TestSweepAfterEachStep: a host that was killed at any step of its start leaves
// nothing behind the next sweep.
func TestSweepAfterEachStep(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	want := map[int]sys.SweepOutcome{1: sys.SweptStale, 2: sys.SweptEnded, 3: sys.SweptEnded}
	for step, outcome := range want {
		group, records := groupFor(t), filepath.Join(t.TempDir(), "records")
		path, argv, env := systest.Command("dies-at-step", strconv.Itoa(step), records, group)
		cmd := &exec.Cmd{Path: path, Args: argv, Env: env}
		if out, err := cmd.Output(); len(out) > 0 || err == nil {
			t.Fatalf("step %d: %q %v", step, out, err)
		}
		if got := sweepAll(t, records); len(got) != 1 || got[0].Outcome != outcome {
			t.Errorf("step %d: %+v, want %s", step, got, outcome)
		}
		if left, _ := os.ReadDir(records); len(left) != 1 || left[0].Name() != "sweep.lock" {
			t.Errorf("step %d left %v", step, left)
		}
	}
}

// TestSweepAfterAnyMoment kills supervisors in their first milliseconds.
func TestSweepAfterAnyMoment(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group, records := groupFor(t), filepath.Join(t.TempDir(), "records")
	n := rounds(t, 200)
	for i := range n {
		path, argv, env := systest.Command("recorded-supervisor", group, records)
		cmd := &exec.Cmd{Path: path, Args: argv, Env: env}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Spread over the start, whatever its length here: no wait is for an event.
		time.Sleep(time.Duration(i) * 60 * time.Millisecond / time.Duration(n))
		cmd.Process.Kill()
		cmd.Wait()
	}
	// Guardians may still be at work on what the sweep finds.
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		got := sweepAll(t, records)
		if len(got) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %+v", got)
		}
	}
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		left, err := filepath.Glob(group + "/belfry-*")
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d directories are left: %v", len(left), left)
		}
	}
}

// TestSweepBesideStarting: hosts that start and close while others sweep are not
// disturbed, and leave no record.
func TestSweepBesideStarting(t *testing.T) {
	needs(t, newHost(t, ""), sys.CgroupV2)
	group, records := groupFor(t), filepath.Join(t.TempDir(), "records")
	stop := make(chan struct{})
	var sweepers sync.WaitGroup
	for range 2 {
		h := sweeping(t, records)
		sweepers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				got, err := h.Sweep(t.Context())
				if err != nil {
					t.Error(err)
				}
				for _, r := range got {
					if r.Outcome != sys.SweptLive && r.Outcome != sys.SweptStale {
						t.Errorf("%+v", r)
					}
				}
			}
		})
	}
	for range rounds(t, 200) {
		h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.CgroupV2, Parent: group, Records: records})
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, h, nil, "exit", "3")
		wait(t, "empty", r.Empty())
		if e, g := r.Exit(), r.Guarantee(); e.Code != 3 || g.HelperDeath != sys.ScopeTreeOnRestart {
			t.Errorf("%+v %+v", e, g)
		}
		if err := r.Release(); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	sweepers.Wait()
	if left := files(t, records); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSweepTouchesNothingElse: what is not certainly a dead host's container is
// left alone, and the reason is told.
func TestSweepTouchesNothingElse(t *testing.T) {
	group := groupFor(t)
	at := func(name string) string { return filepath.Join(group, name) }
	record := func(container, boot string, made bool) string {
		text, err := sys.RecordText(container, boot, made)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	here := at("belfry-0123456789abcdef")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(here)
	plain := filepath.Join(t.TempDir(), "belfry-0123456789abcdef")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		outcome    sys.SweepOutcome
		detail     string
	}{
		{"nothing noted", "", sys.SweptStale, ""},
		{"torn", `{"version":1`, sys.SweptStale, ""},
		{"an earlier boot", record(here, "another boot", false), sys.SweptStale, ""},
		{"its directory is gone", record(filepath.Dir(group)+"/belfry-0123456789abcdef", "", false), sys.SweptStale, ""},
		{"another name", record(here+"0", "", false), sys.SweptUnknown, "no container of this record"},
		{"no JSON", "hello\n", sys.SweptUnknown, "no JSON"},
		{"another version", `{"version":99,"boot":"b","pid":1,"container":"/c"}` + "\n", sys.SweptUnknown, "version 99"},
		{"another inode", record(here, "", true), sys.SweptUnknown, "not the directory that was noted"},
		{"no control group", record(plain, "", false), sys.SweptUnknown, "no control group"},
		{"a group that is nobody's container", record(group, "", false), sys.SweptUnknown, "no container of this record"},
	} {
		t.Run(c.name, func(t *testing.T) {
			records := t.TempDir()
			path := filepath.Join(records, "belfry-0123456789abcdef.json")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := sweepAll(t, records)
			if len(got) != 1 || got[0].Outcome != c.outcome || !strings.Contains(got[0].Detail, c.detail) || (c.detail == "") != (got[0].Detail == "") {
				t.Errorf("%+v, want %s with %q", got, c.outcome, c.detail)
			}
			_, err := os.Stat(path)
			if kept := c.outcome == sys.SweptUnknown; kept != (err == nil) {
				t.Errorf("kept %v, want %v", err == nil, kept)
			}
			for _, dir := range []string{here, plain} {
				if _, err := os.Stat(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestRecordRemoved: without its record no restart finds a tree, and what is told
// says so.
func TestRecordRemoved(t *testing.T) {
	records := filepath.Join(t.TempDir(), "records")
	h := sweeping(t, records)
	needs(t, h, sys.CgroupV2)
	r := start(t, h, nil, "sleep")
	if g := r.Guarantee(); g.HelperDeath != sys.ScopeTreeOnRestart {
		t.Errorf("%+v", g)
	}
	for _, name := range files(t, records) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if g := r.Guarantee(); g.HelperDeath != sys.ScopeLeader {
		t.Errorf("without the record: %+v", g)
	}
}
