package sys_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() {
	systest.Register("escape", escape)
	systest.Register("escape-between", func(args []string) int { return startStray(args) })
	systest.Register("stray", stray)
}

const rlimitLocks = 10

// escape starts a stray once it is told to, and ends with status 3 when it is
// told again: HOW FIFO GROUP. HOW is "child", which puts its mark off and keeps
// its parent, "orphan", which has neither parent, group nor session of ours, or
// "adrift", which has no mark either.
func escape(args []string) int {
	how, fifo := args[0], args[1]
	if err := told(fifo); err != nil {
		return 1
	}
	role := "stray"
	if how != "child" {
		role = "escape-between"
	}
	path, argv, _ := systest.Command(role, how, args[2])
	cmd := exec.Cmd{Path: path, Args: argv, Env: os.Environ(), Stdout: os.Stdout, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if cmd.Start() != nil {
		return 1
	}
	if how != "child" && cmd.Wait() != nil || told(fifo) != nil {
		return 1
	}
	return 3
}

func told(fifo string) error {
	_, err := os.ReadFile(fifo)
	return err
}

func startStray(args []string) int {
	path, argv, _ := systest.Command("stray", args...)
	cmd := exec.Cmd{Path: path, Args: argv, Env: os.Environ(), Stdout: os.Stdout, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if cmd.Start() != nil {
		return 1
	}
	return 0
}

// stray moves to another control group, says so, and lives on.
func stray(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	if args[0] != "orphan" {
		var r syscall.Rlimit
		if syscall.Getrlimit(rlimitLocks, &r) != nil {
			return 1
		}
		r.Cur = r.Max
		if syscall.Setrlimit(rlimitLocks, &r) != nil {
			return 1
		}
	}
	if args[1] != "" && os.WriteFile(args[1]+"/cgroup.procs", fmt.Append(nil, os.Getpid()), 0) != nil {
		return 1
	}
	fmt.Println("moved")
	os.Stdout.Close()
	<-time.After(time.Minute)
	return 0
}

// escaped starts a tree one member of which has got away.
func escaped(t *testing.T, h sys.Host, token, how, group string) *run {
	t.Helper()
	systest.Spare("escape-between", "stray") // other helpers start these
	r := start(t, h, []string{token}, "escape", how, fifoHeld(t), group)
	openFifo(t)
	if got := r.line(t); got != "moved" {
		t.Fatal(got)
	}
	return r
}

// TestKillFindsWhoMoved: a member that put itself into a control group of others
// does not outlive a kill that is proved, as long as its parents or its mark tell
// whose it is.
func TestKillFindsWhoMoved(t *testing.T) {
	for _, how := range []string{"child", "orphan"} {
		t.Run(how, func(t *testing.T) {
			h := newHost(t, sys.CgroupV2)
			needs(t, h, sys.CgroupV2)
			if how == "orphan" && !sys.Marks(h) {
				t.Skip("no marks are given here")
			}
			for range rounds(t, 50) {
				token := newToken(t)
				r := escaped(t, h, token, how, parentOfTests())
				if how == "child" {
					if _, err := r.Signal(sys.SIGTERM); err != nil { // ends its parent
						t.Fatal(err)
					}
				}
				rep, err := r.Kill(t.Context())
				if err != nil || rep.Proof != sys.ProofGroupScan {
					t.Fatalf("%+v %v", rep, err)
				}
				if left := survivors(token); len(left) > 0 {
					t.Fatalf("survivors of a proved kill: %v", left)
				}
			}
		})
	}
}

// TestEndFindsWhoMoved: a tree of which one member got away is not empty at its
// leader's end.
func TestEndFindsWhoMoved(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	if !sys.Marks(h) {
		t.Skip("no marks are given here")
	}
	for range rounds(t, 50) {
		token := newToken(t)
		r := escaped(t, h, token, "orphan", parentOfTests())
		openFifo(t)
		wait(t, "exited", r.Exited())
		if e := r.Exit(); e.Code != 3 {
			t.Fatalf("%+v", e)
		}
		// Its container is empty: only a look tells.
		if rep, err := r.Kill(t.Context()); err != nil || rep.Proof != sys.ProofGroupScan {
			t.Fatalf("%+v %v", rep, err)
		}
		if left := survivors(token); len(left) > 0 {
			t.Fatalf("survivors of a proved kill: %v", left)
		}
		if g := r.Guarantee(); g.Kill != sys.ScopeGroup {
			t.Errorf("guarantee %+v", g)
		}
	}
}

// TestDeathFindsWhoMoved: nor does it outlive the supervisor, whose guardian finds
// it, or, where that was killed too, the next start.
func TestDeathFindsWhoMoved(t *testing.T) {
	h := newHost(t, "")
	needs(t, h, sys.CgroupV2)
	if !sys.Marks(h) {
		t.Skip("no marks are given here")
	}
	systest.Spare("escape-between", "stray")
	for _, both := range []bool{false, true} {
		for range rounds(t, 30) {
			group, records, token := groupFor(t), filepath.Join(t.TempDir(), "records"), newToken(t)
			fifo := fifoHeld(t)
			opened := make(chan struct{})
			go func() { defer close(opened); openFifo(t) }()
			cmd, guardian := recorded(t, group, records, token, "escape", "orphan", fifo, parentOfTests())
			<-opened
			if both {
				killBoth(t, cmd, guardian)
				if len(survivors(token)) == 0 {
					t.Error("there is nothing to sweep")
				}
				sweepAll(t, records)
			} else {
				cmd.Process.Kill()
				cmd.Wait()
			}
			gone(t, token)
			until(t, "the end of the containers", func() bool {
				left, err := os.ReadDir(group)
				return err == nil && !slices.ContainsFunc(left, os.DirEntry.IsDir)
			})
		}
	}
}

// TestGroupFindsOrphans: without any container the mark finds what took a session
// of its own and has no ancestor left.
func TestGroupFindsOrphans(t *testing.T) {
	h := newHost(t, sys.ProcessGroup)
	if !sys.Marks(h) {
		t.Skip("no marks are given here")
	}
	for range rounds(t, 50) {
		token := newToken(t)
		r := escaped(t, h, token, "orphan", "")
		rep, err := r.Kill(t.Context())
		if err != nil || rep.Proof != sys.ProofGroupScan {
			t.Fatalf("%+v %v", rep, err)
		}
		if left := survivors(token); len(left) > 0 {
			t.Fatalf("survivors: %v", left)
		}
	}
}

// TestMarksOfOthers: a tree's mark is its own, whatever way it is started, and the
// host's helpers and the host itself have none.
func TestMarksOfOthers(t *testing.T) {
	own := marksOf(t, os.Getpid())
	for _, m := range everyRung {
		t.Run(string(m), func(t *testing.T) {
			h := newHost(t, m)
			needs(t, h, m)
			if !sys.Marks(h) {
				t.Skip("no marks are given here")
			}
			seen := map[string]bool{own: true}
			for range 3 {
				r := start(t, h, nil, "ignore-term")
				r.line(t)
				mark := marksOf(t, r.Leader().PID)
				if seen[mark] {
					t.Errorf("mark %s was given twice", mark)
				}
				seen[mark] = true
				if now := marksOf(t, os.Getpid()); now != own {
					t.Errorf("the host has mark %s, had %s", now, own)
				}
			}
			if m == sys.Subreaper {
				keeper, spare := sys.HelpersOf(h)
				for _, pid := range []int{keeper, spare} {
					if mark := marksOf(t, pid); mark != own {
						t.Errorf("a helper has mark %s", mark)
					}
				}
			}
		})
	}
}

// marksOf is what /proc shows.
func marksOf(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Max file locks"); ok {
			return strings.Fields(rest)[0]
		}
	}
	t.Fatal("no file locks among the limits")
	return ""
}

// TestKillFindsWhoRuns: nor does what starts itself again in another control group,
// and ends, some thousand times a second.
func TestKillFindsWhoRuns(t *testing.T) {
	h := newHost(t, sys.CgroupV2)
	needs(t, h, sys.CgroupV2)
	if !sys.Marks(h) {
		t.Skip("no marks are given here")
	}
	for range rounds(t, 50) {
		token := newToken(t)
		r := startSpec(t, h, func(w *os.File) sys.Spec {
			sp := specOf(t, w, []string{token}, "exit", "0")
			sp.Path = "/bin/sh"
			sp.Argv = []string{"sh", "-c", `setsid sh -c "$3" "$0" "$1" >/dev/null 2>&1 & read x < "$2"; echo moved; read x < "$2"`,
				leashOf(token), parentOfTests(), fifoHeld(t),
				`echo $$ > "$1"/cgroup.procs; step() { [ -e "$0" ] && { step & }; }; step`}
			return sp
		})
		openFifo(t)
		if got := r.line(t); got != "moved" {
			t.Fatal(got)
		}
		rep, err := r.Kill(t.Context())
		if err != nil || rep.Proof == sys.ProofNone {
			t.Fatalf("%+v %v", rep, err)
		}
		if left := survivors(token); len(left) > 0 {
			t.Fatalf("survivors of a proved kill: %v", left)
		}
	}
}
