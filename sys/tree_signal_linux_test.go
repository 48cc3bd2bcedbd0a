package sys_test

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("counters", counters) }

// counters is a leader with a child in its group and one in a session of its
// own; each counts the SIGTERMs that it gets.
func counters(args []string) int {
	if len(args) > 0 {
		return countTerm(args)
	}
	path, argv, env := systest.Command("counters", "group")
	for _, attr := range []*syscall.SysProcAttr{{}, {Setsid: true}} {
		if attr.Setsid {
			argv[len(argv)-1] = "session"
		}
		if _, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: attr}); err != nil {
			return 1
		}
	}
	return countTerm([]string{"leader"})
}

func countTerm(args []string) int {
	got := make(chan os.Signal, 16)
	signal.Notify(got, syscall.SIGTERM)
	fmt.Fprintln(os.Stdout, "ready")
	n := 0
	for limit := time.After(time.Minute); ; {
		select {
		case <-got:
			n++
			limit = time.After(300 * time.Millisecond)
		case <-limit:
			fmt.Fprintln(os.Stdout, args[0], n)
			return 0
		}
	}
}

// TestSignalOnce: a signal reaches each member, stopped ones too, exactly once.
func TestSignalOnce(t *testing.T) {
	eachRung(t, func(t *testing.T, h sys.Host) {
		r := start(t, h, nil, "counters")
		for range 3 {
			if got := r.line(t); got != "ready" {
				t.Fatal(got)
			}
		}
		if list, _ := r.Members(); len(list) != 3 {
			t.Fatalf("members: %v", list)
		}
		if d, err := r.Signal(sys.SIGSTOP); err != nil || d.Sent != 3 {
			t.Fatalf("stop: %+v %v", d, err)
		}
		for deadline := time.Now().Add(hang); !r.Stopped(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the leader does not show as stopped")
			}
		}
		if d, err := r.Signal(sys.SIGTERM); err != nil || d.Sent != 3 {
			t.Fatalf("term: %+v %v", d, err)
		}
		lines := []string{r.line(t), r.line(t), r.line(t)}
		slices.Sort(lines)
		if got := strings.Join(lines, ","); got != "group 1,leader 1,session 1" {
			t.Error(got)
		}
		wait(t, "empty", r.Empty())
		if r.Stopped() {
			t.Error("an ended leader shows as stopped")
		}
		if d, err := r.Signal(sys.SIGTERM); err != nil || d.Sent != 0 {
			t.Errorf("after the end: %+v %v", d, err)
		}
	})
}
