package windows

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// both runs a test for each way to put a process into a job.
func both(t *testing.T, f func(t *testing.T, suspended bool)) {
	for _, suspended := range []bool{false, true} {
		t.Run(fmt.Sprintf("suspended=%v", suspended), func(t *testing.T) { f(t, suspended) })
	}
}

func TestTerminateReachesTheTree(t *testing.T) {
	both(t, func(t *testing.T, suspended bool) {
		port, err := NewPort()
		if err != nil {
			t.Fatal(err)
		}
		defer port.Close()
		job, err := NewJob()
		if err != nil {
			t.Fatal(err)
		}
		defer job.Close()
		wakes := make(chan struct{}, 1)
		forget, err := port.Associate(job, func(Message) {
			select {
			case wakes <- struct{}{}:
			default:
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer forget()
		leader := startIn(t, job, suspended, "tree", nil)
		members := leader.members(t)
		if in, err := job.Holds(leader.Process); err != nil || !in {
			t.Errorf("leader in the job: %v, %v", in, err)
		}
		pids, err := job.PIDs()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range append(members, leader.Process) {
			if !slices.Contains(pids, p.PID) {
				t.Errorf("process %d is not among %v", p.PID, pids)
			}
		}
		if a, err := job.Accounting(); err != nil || a.Active < 3 || a.Total < a.Active {
			t.Errorf("accounting %+v, %v", a, err)
		}
		if err := job.Terminate(99); err != nil {
			t.Fatal(err)
		}
		for _, p := range append(members, leader.Process) {
			if code := exited(t, p); code != 99 {
				t.Errorf("process %d ended with %d", p.PID, code)
			}
		}
		// Messages wake, the account proves; a lost one costs a second here.
		for deadline := time.Now().Add(hang); ; {
			a, err := job.Accounting()
			if err != nil {
				t.Fatal(err)
			}
			if a.Active == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("never empty: %+v", a)
			}
			select {
			case <-wakes:
			case <-time.After(time.Second):
			}
		}
	})
}

func TestClosingEndsWhatTheLeaderLeft(t *testing.T) {
	both(t, func(t *testing.T, suspended bool) {
		leader := start(t, suspended, "tree", []string{"WINDOWS_TEST_LEAVE=1"})
		members := leader.members(t)
		if code := exited(t, leader.Process); code != 9 {
			t.Errorf("leader ended with %d", code)
		}
		if a, err := leader.job.Accounting(); err != nil || a.Active < 2 {
			t.Errorf("after the leader: %+v, %v", a, err)
		}
		if err := leader.job.Close(); err != nil {
			t.Fatal(err)
		}
		for _, p := range members {
			exited(t, p)
		}
		if err := leader.job.Terminate(1); !errors.Is(err, os.ErrClosed) {
			t.Errorf("terminate after close: %v", err)
		}
	})
}

func TestExitCodeAndIdentity(t *testing.T) {
	both(t, func(t *testing.T, suspended bool) {
		p := start(t, suspended, "wait", nil)
		if got := p.line(t); got != "ready" {
			t.Fatalf("child says %q", got)
		}
		again, err := OpenProcess(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if p.Birth == 0 || again.Birth != p.Birth {
			t.Errorf("birth %d, read again %d", p.Birth, again.Birth)
		}
		if name, err := p.Name(); err != nil || name == "" {
			t.Errorf("name %q, %v", name, err)
		}
		if p.Ended() {
			t.Error("ended while it waits for its input")
		}
		p.in.Close()
		if code := exited(t, p.Process); code != 7 {
			t.Errorf("ended with %d", code)
		}
		if !p.Ended() {
			t.Error("not ended after its exit")
		}
	})
}

func TestOnlyStdioIsInherited(t *testing.T) {
	both(t, func(t *testing.T, suspended bool) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		// An inheritable handle of ours, as a careless library may leave.
		loose, err := NewStdio([3]uintptr{w.Fd(), w.Fd(), w.Fd()})
		if err != nil || len(loose.list) != 1 {
			t.Fatal(loose, err)
		}
		defer loose.Close()
		p := start(t, suspended, "sees", []string{fmt.Sprintf("WINDOWS_TEST_HANDLE=%d", uintptr(loose.list[0]))})
		if got := p.line(t); got != "inherited: false" {
			t.Errorf("child says %q", got)
		}
	})
}

func TestArgumentsArrive(t *testing.T) {
	args := []string{"", "a b", `c"d`, `e\`, `f g\`, `\\h\"i`, "ü😀", "%PATH%", "&|<>^", "tab\there"}
	p := start(t, false, "args", nil, args...)
	if got, want := p.line(t), fmt.Sprintf("%q", args); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestStartRefuses(t *testing.T) {
	job, err := NewJob()
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	missing := os.TempDir() + `\no such program.exe`
	line, err := CommandLine([]string{missing})
	if err != nil {
		t.Fatal(err)
	}
	stdio, err := NewStdio([3]uintptr{null.Fd(), null.Fd(), null.Fd()})
	if err != nil {
		t.Fatal(err)
	}
	defer stdio.Close()
	_, err = job.Start(Start{Path: missing, CommandLine: line, Dir: os.TempDir(), Env: os.Environ(), Stdio: stdio})
	if !errors.Is(err, ErrFileNotFound) {
		t.Errorf("missing program: %v", err)
	}
	if a, err := job.Accounting(); err != nil || a.Total != 0 {
		t.Errorf("something ran: %+v, %v", a, err)
	}
	if _, err := OpenProcess(1 << 30); !errors.Is(err, ErrProcessGone) {
		t.Errorf("no such process: %v", err)
	}
}

func TestReleaseNamesWine(t *testing.T) {
	wine := Wine()
	if got := Release(); strings.Contains(got, "Wine") != (wine != "") || !strings.Contains(got, wine) {
		t.Errorf("release %q, Wine %q", got, wine)
	}
}

// A limit that was set reads back, or as under Wine does not: then nobody is
// held to it, and whoever set it must know.
func TestLimitsReadBack(t *testing.T) {
	job, err := NewJob()
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	if memory, processes, err := job.Limits(); err != nil || memory != 0 || processes != 0 {
		t.Errorf("before: %d bytes, %d processes, %v", memory, processes, err)
	}
	if rate, _ := job.CPURate(); rate != 0 {
		t.Errorf("before: rate %d", rate)
	}
	if err := job.SetLimits(64<<20, 5); err != nil {
		t.Fatal(err)
	}
	memory, processes, err := job.Limits()
	if err != nil {
		t.Fatal(err)
	}
	rateErr := job.SetCPURate(2500)
	rate, _ := job.CPURate()
	if Wine() != "" {
		if memory != 0 || processes != 0 || rate != 0 || rateErr == nil {
			t.Errorf("Wine %s holds to limits now: %d bytes, %d processes, rate %d, %v", Wine(), memory, processes, rate, rateErr)
		}
		return
	}
	if memory != 64<<20 || processes != 5 || rate != 2500 || rateErr != nil {
		t.Errorf("%d bytes, %d processes, rate %d, %v", memory, processes, rate, rateErr)
	}
	if n := Processors(); n < 1 {
		t.Errorf("%d processors", n)
	}
}

// A number that is none names nobody, although the system takes it for its
// neighbour's.
func TestOpenProcessByItsVeryNumber(t *testing.T) {
	own, err := OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	own.Close()
	for _, off := range []int{1, 2, 3, 1 << 32} {
		if p, err := OpenProcess(os.Getpid() + off); !errors.Is(err, ErrProcessGone) {
			t.Errorf("%d beside this process: %+v, %v", off, p, err)
		}
	}
}
