//go:build linux || darwin

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// onTerminal is a process that leads a session on a terminal of its own.
type onTerminal struct {
	t    *testing.T
	tty  *sys.Terminal
	cmd  *exec.Cmd
	said bytes.Buffer
	more chan []byte
}

// startOnTerminal starts one, with further variables.
func startOnTerminal(t *testing.T, cmd *exec.Cmd, env ...string) *onTerminal {
	t.Helper()
	tty, err := sys.OpenTerminal()
	if err != nil {
		t.Fatal(err)
	}
	o := &onTerminal{t: t, tty: tty, cmd: cmd, more: make(chan []byte, 64)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty.Child, tty.Child, tty.Child
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Env = append(cmd.Environ(), "BELFRY_REGISTRY_DIR="+filepath.Join(t.TempDir(), "runs"))
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Child.Close()
	go func() {
		defer close(o.more)
		for {
			b := make([]byte, 4096)
			n, err := tty.Output.Read(b)
			if n > 0 {
				o.more <- b[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // Best effort: it has ended when the test went well.
		_ = cmd.Wait()
		tty.Output.Close()
	})
	return o
}

// expect waits until the terminal shows a text, and forgets what is before it.
func (o *onTerminal) expect(text string) {
	o.t.Helper()
	late := time.After(30 * time.Second)
	for {
		if at := bytes.Index(o.said.Bytes(), []byte(text)); at >= 0 {
			o.said.Next(at + len(text))
			return
		}
		select {
		case b, ok := <-o.more:
			if !ok {
				o.t.Fatalf("no %q before the end: %q", text, o.said.String())
			}
			o.said.Write(b)
		case <-late:
			o.t.Fatalf("no %q: %q", text, o.said.String())
		}
	}
}

func (o *onTerminal) keys(text string) {
	o.t.Helper()
	if _, err := o.tty.Write([]byte(text)); err != nil {
		o.t.Fatal(err)
	}
}

// continueUntilHeard continues a stopped run and types a line until it is heard: what is typed while the terminal changes hands may be lost, or the shell's.
func (o *onTerminal) continueUntilHeard(line string) {
	o.t.Helper()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	late := time.After(30 * time.Second)
	for {
		if bytes.Contains(o.said.Bytes(), []byte("heard "+line)) {
			o.said.Reset()
			return
		}
		select {
		case b := <-o.more:
			o.said.Write(b)
		case <-again.C:
			o.keys("fg\n" + line + "\n")
		case <-late:
			o.t.Fatalf("%q is not heard: %q", line, o.said.String())
		}
	}
}

func (o *onTerminal) exits(status int) {
	o.t.Helper()
	_ = o.cmd.Wait() // the status is looked at below
	if got := o.cmd.ProcessState.ExitCode(); got != status {
		o.t.Errorf("status %d, want %d: %q", got, status, o.said.String())
	}
}

// A program with our own streams is on our terminal, in its foreground.
func TestInheritedTerminal(t *testing.T) {
	o := startOnTerminal(t, belfry(t, "run", "--inherit-stdio", "--", "sh", "-c", `test -t 1 && read x && echo "got $x"; exec cat`))
	o.keys("hello\n")
	o.expect("got hello")
	o.keys("\x03")
	o.exits(128 + int(syscall.SIGINT))
}

// Ctrl-C asks a run to end, and once more ends it at once.
func TestInterruptedRun(t *testing.T) {
	o := startOnTerminal(t, belfry(t, "run", "--", "sh", "-c", `trap 'echo asked' TERM; echo up; while :; do sleep 1 & wait $!; done`))
	o.expect("up")
	o.keys("\x03")
	o.expect("asked")
	o.keys("\x03")
	o.expect("cancelled (CTRL_C)")
	o.exits(107)
}

// A terminal of its own: the program finds one, and what is typed reaches it.
func TestOwnTerminal(t *testing.T) {
	o := startOnTerminal(t, belfry(t, "run", "--pty", "--", "sh", "-c", `test -t 0 && test -t 2 && echo up; exec cat`))
	o.expect("up")
	o.keys("typed\r")
	o.expect("typed\r\ntyped")
	o.keys("\x03")
	o.exits(128 + int(syscall.SIGINT))

	// Without a terminal of ours its input is at its end.
	cmd := belfry(t, "run", "--pty", "--", "sh", "-c", "tty; cat; echo end")
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte("end\r\n")) {
		t.Errorf("%q, %v", out, err)
	}
}

// hears says what it hears.
const hears = `sh -c 'echo up$((1+1)); while read x; do echo "heard $x"; done'`

// A shell stops and continues a run with its tree by job control.
func TestSuspendedRun(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash for its job control")
	}
	self := belfry(t).Path
	cmd := exec.Command(bash, "--norc", "--noprofile", "-i")
	cmd.Env = append(cmd.Environ(), "PS1=prompt: ", "TERM=dumb")
	o := startOnTerminal(t, cmd)
	o.expect("prompt: ")
	for _, flags := range []string{"--inherit-stdio", "--inherit-stdin"} {
		o.keys("(exec -a belfry " + self + " run " + flags + " -- " + hears + ")\n")
		o.expect("up2")
		o.keys("one\n")
		o.expect("heard one")
		o.keys("\x1a")
		o.expect("Stopped")
		o.expect("prompt: ")
		o.continueUntilHeard("two")
		o.keys("\x04")
		o.expect("prompt: ")
	}
	// From the background it is stopped as soon as it asks for input.
	o.keys("(exec -a belfry " + self + " run --inherit-stdio -- " + hears + ") &\n")
	o.expect("prompt: ")
	o.keys("until jobs | grep Stopped; do sleep 0.05; done\n")
	o.continueUntilHeard("three")
	o.keys("\x04")
	o.expect("prompt: ")
	o.keys("exit\n")
	o.exits(0)
}
