package sys_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"testing"

	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

func init() { systest.Register("win-polite", winPolite) }

// winPolite writes "ready" and waits for CTRL_BREAK, of which it tells, or, with
// "child", for that of a child that it starts the same.
func winPolite(args []string) int {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt)
	if len(args) > 0 {
		path, argv, env := systest.Command("win-polite")
		c := &exec.Cmd{Path: path, Args: argv, Env: env}
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Println(lines.Text())
		}
		return 6
	}
	fmt.Println("ready")
	<-asked
	fmt.Println("asked")
	return 5
}

// TestBreakIsTheSoftStop: CTRL_BREAK reaches the leader's group, and only that.
func TestBreakIsTheSoftStop(t *testing.T) {
	h := host(t)
	for _, args := range [][]string{nil, {"child"}} {
		r := launch(t, h, command("win-polite", args...))
		r.ready(t)
		d, err := r.Signal(sys.SIGTERM)
		if errors.Is(err, sys.ErrUnsupported) {
			systest.SkipUnderWine(t, "control events for another console")
		}
		if err != nil || d.Sent == 0 {
			t.Fatalf("%+v %v", d, err)
		}
		within(t, "the leader's end", r.Exited())
		if e := r.Exit(); e.Code != 5+len(args) || e.Signal != 0 {
			t.Errorf("exit %+v", e)
		}
	}
}

// TestBreakEndsWhoDoesNotListen: what does nothing about it is ended by it, and
// told as what it was.
func TestBreakEndsWhoDoesNotListen(t *testing.T) {
	h := host(t)
	r := launch(t, h, command("win-wait"))
	r.ready(t)
	if _, err := r.Signal(sys.SIGTERM); errors.Is(err, sys.ErrUnsupported) {
		systest.SkipUnderWine(t, "control events for another console")
	} else if err != nil {
		t.Fatal(err)
	}
	within(t, "the leader's end", r.Exited())
	if e := r.Exit(); e.Signal != sys.SIGTERM || e.Code != 0 {
		t.Errorf("exit %+v", e)
	}
}

// TestBreakAfterTheEnd: nobody is there any more.
func TestBreakAfterTheEnd(t *testing.T) {
	h := host(t)
	r := launch(t, h, command("exit", "3"))
	within(t, "the end", r.Empty())
	if d, err := r.Signal(sys.SIGTERM); err != nil || d.Sent != 0 {
		t.Errorf("%+v %v", d, err)
	}
	if e := r.Exit(); e.Code != 3 || r.Proof() != sys.ProofJobZero {
		t.Errorf("%+v %v", e, r.Proof())
	}
}
