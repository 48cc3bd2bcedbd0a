package sys_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// A job may do to its shim what any process of the user may. It gets nothing by
// it: what the shim leaves falls to the keeper, which ends it.

// hostileTo starts a hostile tree beside a script that turns on its parent.
func hostileTo(t *testing.T, h sys.Host, token, script string) *run {
	t.Helper()
	path, argv, _ := systest.Command("tree", "stay", leashOf(token))
	r := startSpec(t, h, func(w *os.File) sys.Spec {
		sp := specOf(t, w, []string{token}, "exit", "0")
		sp.Path = "/bin/sh"
		sp.Argv = []string{"sh", "-c", strings.Join(argv, " ") + " & read go < " + fifoHeld(t) + "; " + script}
		sp.Argv[2] = strings.Replace(sp.Argv[2], argv[0], path, 1)
		return sp
	})
	if got := r.line(t); got != "ready" {
		t.Fatal(got)
	}
	return r
}

func TestJobKillsItsShim(t *testing.T) {
	for range rounds(t, 50) {
		h := newHost(t, sys.Subreaper)
		needs(t, h, sys.Subreaper)
		token := newToken(t)
		r := hostileTo(t, h, token, "kill -9 $PPID; sleep 60")
		if g := r.Guarantee(); g.Kill != sys.ScopeTree {
			t.Errorf("before: %+v", g)
		}
		openFifo(t)
		wait(t, "exited", r.Exited())
		if e := r.Exit(); e.Signal != sys.SIGKILL {
			t.Errorf("exit %+v", e)
		}
		wait(t, "empty", r.Empty())
		if p := r.Proof(); p != sys.ProofNoChildren {
			t.Errorf("proof %q", p)
		}
		gone(t, token)
		if g := r.Guarantee(); g.Kill != sys.ScopeGroup || g.SupervisorDeath != sys.ScopeLeader {
			t.Errorf("after: %+v", g)
		}
	}
}

// TestJobKillsShimAndKeeper: what group and ancestry show is ended, and no more
// is claimed.
func TestJobKillsShimAndKeeper(t *testing.T) {
	h := newHost(t, sys.Subreaper)
	needs(t, h, sys.Subreaper)
	token := newToken(t)
	r := hostileTo(t, h, token, "set -- $(cat /proc/$PPID/stat); kill -9 $4 $PPID; sleep 60")
	openFifo(t)
	wait(t, "exited", r.Exited())
	wait(t, "empty", r.Empty())
	if p := r.Proof(); p != sys.ProofGroupScan {
		t.Errorf("proof %q", p)
	}
	if !sys.HasPidfdGroups(h) {
		if g := r.Guarantee(); g.Kill != sys.ScopeLeader || g.LeaderExit != sys.ScopeLeader {
			t.Errorf("before Linux 6.9 the group of a leader without shim and keeper cannot be told from another: %+v", g)
		}
	} else if leaderLives(token) {
		t.Error("the leader of the escaping tree lives")
	}
	sweep(t, token)
	// The next job has a shim and a keeper again.
	next := start(t, h, nil, "exit", "3")
	wait(t, "empty", next.Empty())
	if e := next.Exit(); e.Code != 3 || next.Proof() != sys.ProofNoChildren {
		t.Errorf("%+v, %s", e, next.Proof())
	}
}

// TestJobStopsItsShim: stopped once, it is continued; stopped again and again
// it is killed, and the keeper ends the tree. The leader's end shows in time.
func TestJobStopsItsShim(t *testing.T) {
	for name, script := range map[string]string{
		"once":        "kill -STOP $PPID; exit 7",
		"for ever":    "while kill -STOP $PPID; do :; done",
		"with keeper": "set -- $(cat /proc/$PPID/stat); kill -STOP $4 $PPID; exit 7",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, sys.Subreaper)
			needs(t, h, sys.Subreaper)
			token := newToken(t)
			r := hostileTo(t, h, token, script)
			openFifo(t)
			if name != "for ever" {
				wait(t, "exited", r.Exited())
				if e := r.Exit(); e.Code != 7 {
					t.Errorf("%+v", e)
				}
			}
			rep, err := r.Kill(t.Context())
			if err != nil || rep.Proof != sys.ProofNoChildren {
				t.Errorf("%+v %v", rep, err)
			}
			gone(t, token)
		})
	}
}

// TestStoppedHelperSupervisorKilled: the keeper wakes, at last kills, the shim
// that its job has stopped before the supervisor was killed; and a shim wakes the
// keeper, which ends then.
func TestStoppedHelperSupervisorKilled(t *testing.T) {
	needs(t, newHost(t, sys.Subreaper), sys.Subreaper)
	for _, helper := range []string{"shim", "keeper"} {
		t.Run(helper, func(t *testing.T) {
			token := newToken(t)
			cmd, leader := superviseUntilReady(t, sys.Subreaper, token)
			shim := parentOf(t, leader)
			keeper := parentOf(t, shim)
			stop := map[string]int{"shim": shim, "keeper": keeper}[helper]
			if err := syscall.Kill(stop, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			cmd.Process.Kill()
			cmd.Wait()
			gone(t, token)
			for deadline := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
				args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", keeper))
				if !strings.HasPrefix(string(args), "belfry-helper") {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the keeper is still there")
				}
			}
		})
	}
}

// TestSupervisorAndShimKilled: the pid namespace ends by itself, and a
// subreaper's tree falls to the keeper.
func TestSupervisorAndShimKilled(t *testing.T) {
	for _, m := range []sys.Mechanism{sys.PIDNamespace, sys.Subreaper} {
		t.Run(string(m), func(t *testing.T) {
			needs(t, newHost(t, m), m)
			for range rounds(t, 50) {
				token := newToken(t)
				cmd, leader := superviseUntilReady(t, m, token)
				helpers := []int{parentOf(t, leader)}
				if m == sys.PIDNamespace {
					// All of them: init's parent is the shim, whose is the keeper.
					shim := parentOf(t, helpers[0])
					helpers = []int{parentOf(t, shim), shim}
				}
				cmd.Process.Kill()
				for _, pid := range helpers {
					// It may have seen its supervisor's end already.
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
						t.Error(err)
					}
				}
				cmd.Wait()
				gone(t, token)
			}
		})
	}
}

// superviseUntilReady starts a supervisor with a hostile tree and gives the
// tree's leader.
func superviseUntilReady(t *testing.T, m sys.Mechanism, token string) (*exec.Cmd, int) {
	t.Helper()
	path, argv, env := systest.Command("supervisor", string(m), parentOfTests(), token)
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for leader, ready := 0, false; ; {
		if leader != 0 && ready {
			return cmd, leader
		}
		if !lines.Scan() {
			t.Fatalf("the supervisor ended: %v", lines.Err())
		}
		if n, err := fmt.Sscanf(lines.Text(), "leader %d", new(int)); n == 1 && err == nil {
			leader, _ = strconv.Atoi(strings.TrimPrefix(lines.Text(), "leader "))
		}
		ready = ready || lines.Text() == "ready"
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	all, err := sys.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.ID.PID == pid {
			return p.PPID
		}
	}
	t.Fatalf("no process %d", pid)
	return 0
}

// TestDeathSignalOutlivesThreads: the death signal hangs on the thread that
// started the leader. Threads of the supervisor that end take no job along.
func TestDeathSignalOutlivesThreads(t *testing.T) {
	for _, m := range everyRung {
		t.Run(string(m), func(t *testing.T) {
			h := newHost(t, m)
			needs(t, h, m)
			started := make(chan *run, 1)
			go func() { endThread(func() { started <- start(t, h, nil, "sleep") }) }()
			r := <-started
			for range 20 {
				done := make(chan struct{})
				go func() { endThread(func() { close(done) }) }()
				<-done
			}
			select {
			case <-r.Exited():
				t.Errorf("ended with a thread: %+v", r.Exit())
			case <-time.After(20 * time.Millisecond):
			}
		})
	}
}

// TestNothingIsLeftOfHelpers: a closed host leaves neither shim nor keeper.
func TestNothingIsLeftOfHelpers(t *testing.T) {
	h, err := sys.NewHost(sys.HostOptions{Mechanism: sys.Subreaper})
	if err != nil {
		t.Fatal(err)
	}
	needs(t, h, sys.Subreaper)
	h.Prepare()
	keeper, _ := sys.HelpersOf(h)
	if keeper == 0 {
		t.Fatal("no keeper runs")
	}
	for _, pid := range descendants(t, os.Getpid()) {
		if pid == keeper {
			t.Error("the keeper descends from the supervisor")
		}
	}
	helpers := append(descendants(t, keeper), keeper)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range helpers {
		if args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); len(args) > 0 {
			t.Errorf("helper %d is still there: %q", pid, args)
		}
	}
}
