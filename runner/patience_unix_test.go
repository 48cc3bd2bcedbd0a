//go:build unix

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A file that does not open keeps nobody from ending the run.
func TestStoppedSetup(t *testing.T) {
	for name, set := range map[string]func(o *Options, fifo string){
		"events":      func(o *Options, fifo string) { o.JSONL = fifo },
		"input":       func(o *Options, fifo string) { o.Input, o.InFile = InputFile, fifo },
		"environment": func(o *Options, fifo string) { o.Env.Files = []string{fifo} },
	} {
		t.Run(name, func(t *testing.T) {
			// One each: what was given up may hold its own for a moment longer.
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			o := helper(t, "exit", "0")
			o.JSONL = "" // what is given up may still make its file
			set(&o, fifo)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			end := Run(ctx, o)
			want(t, "code", end.Code, ExitCancelled)
			want(t, "source", end.Source, SourceCancelled)
			// Both ends at once let go of who still waits.
			f, err := os.OpenFile(fifo, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		})
	}
}

// What is written of a run that was ended before its program was started.
func TestStoppedSetupEvents(t *testing.T) {
	o := helper(t, "exit", "0")
	stream, err := openStream(o.JSONL, SchemaVersion, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	r := &run{o: o, id: "a", stream: stream, started: make(chan struct{})}
	got := &result{Ending: r.notSetUp(stopped{"sigterm"})}
	got.read(t, o.JSONL)
	got.wantOrder(t, EventCancelled, EventRunnerExit)
	want(t, "source", got.event(t, EventCancelled)["source"], any("sigterm"))
}

// A stream that somebody else reads is not read through its name, which would
// take it from him, and a name of our own descriptors is none for others.
func TestStreamThatIsNotKept(t *testing.T) {
	r := freshRemote(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	dead(t, r, "a", fifo)
	if _, err := r.Stream("a"); !errors.Is(err, ErrNoStream) || !strings.Contains(err.Error(), fifo) {
		t.Errorf("%v", err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	want(t, "a path", lasting(fifo), fifo)
	want(t, "a device", lasting(os.DevNull), os.DevNull)
	if runtime.GOOS != "linux" {
		return // there such a name is no link
	}
	want(t, "a file of ours", lasting(fmt.Sprintf("/dev/fd/%d", file.Fd())), file.Name())
	want(t, "a pipe of ours", lasting(fmt.Sprintf("/dev/fd/%d", pipe.Fd())), "")
}

// A file without an end is no environment.
func TestEndlessEnvironment(t *testing.T) {
	o := helper(t, "exit", "0")
	o.Env.Files = []string{"/dev/zero"}
	r := do(t, o)
	if r.Code != ExitSetup || !strings.Contains(r.Message, "/dev/zero has more than 16777216 bytes") {
		t.Errorf("%+v", r.Ending)
	}
}

// What is meant for the command waits until there is one.
func TestSignalsBeforeTheCommand(t *testing.T) {
	s := catchSignals()
	defer s.stop()
	if err := syscall.Kill(os.Getpid(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	first := <-s.c
	want(t, "caught", first, os.Signal(syscall.SIGQUIT))
	s.c <- first
	taken := make(chan struct{})
	err := patiently(t.Context(), s, func() error {
		for len(s.c) > 0 { // until it is looked at
			runtime.Gosched()
		}
		close(taken)
		return nil
	}, func() {})
	<-taken
	if err != nil || len(s.c) != 1 || <-s.c != first {
		t.Errorf("it is lost, %v", err)
	}
}

// Signals that come at once are told in any order.
func TestStopAndContinueAtOnce(t *testing.T) {
	s := &signals{c: make(chan os.Signal, 16)}
	s.c <- syscall.SIGTERM
	s.c <- syscall.SIGCONT
	want(t, "continued", s.soon(syscall.SIGCONT), true)
	want(t, "kept", <-s.c, os.Signal(syscall.SIGTERM))
	want(t, "not continued", s.soon(syscall.SIGCONT), false)
	s.c <- syscall.SIGTSTP
	want(t, "over", s.soon(syscall.SIGTSTP), true)
	want(t, "left", len(s.c), 0)
}

// Without its launcher a detached run is wanted by nobody.
func TestLauncherThatIsGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	o := helper(t, "bytes", "1", "stay")
	end := RunDetached(t.Context(), o, w)
	want(t, "source", end.Source, SourceCancelled)
}
