package e2e

import (
	"encoding/json"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// lease makes everybody else who opens a file wait, as a file system that does
// not answer would: until release, or 45 s (/proc/sys/fs/lease-break-time).
type lease struct {
	t    *testing.T
	file *os.File
	// opening tells that somebody waits.
	opening chan os.Signal
}

const (
	setLease  = 1024 // F_SETLEASE
	leaseMine = 1    // F_WRLCK
)

func takeLease(t *testing.T, path string) *lease {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l := &lease{t: t, file: f, opening: make(chan os.Signal, 8)}
	signal.Notify(l.opening, syscall.SIGIO)
	t.Cleanup(func() {
		f.Close()
		signal.Stop(l.opening)
	})
	for end := time.Now().Add(guard); ; <-time.After(time.Millisecond) {
		_, _, e := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, leaseMine)
		if e == 0 {
			return l
		}
		// Whoever has the file open must be done with it first.
		if e != syscall.EAGAIN || time.Now().After(end) {
			t.Skipf("no lease on %s: %v", path, e)
		}
	}
}

// release gives the lease back: who waits goes on.
func (l *lease) release() { l.file.Close() }

// A program on a file system that does not answer holds up its own start and
// nothing else.
func TestSlowProgramHoldsNobodyUp(t *testing.T) {
	s := serve(t, setup{allow: []string{leasedExe()}})
	other := s.ready(shell("echo ready; exec sleep 300"))
	start := func(l *lease) string {
		p, err := s.SendTool("run", s.runArgs([]string{leasedExe(), helperVerb, "argv", "x"}))
		s.must(err)
		select {
		case <-l.opening:
		case <-time.After(guard):
			t.Fatal("nobody opens the program")
		}
		a, err := p.WaitTool(s.within())
		s.must(err)
		var r record
		s.must(json.Unmarshal(a.Structured, &r))
		return r.JobID
	}

	l := takeLease(t, leasedExe())
	slow := start(l)
	answered := 0
	for s.status(slow).State == "starting" && answered < 20 {
		answered++
		if r := s.status(other.JobID); r.State != "running" {
			t.Fatalf("the other job: %+v", r)
		}
	}
	if answered == 0 {
		t.Error("status did not answer before the start was given up")
	}
	t.Logf("status answered %d times while the start waited", answered)
	s.exited(s.end(s.begin([]string{"true"}).JobID), 0)
	// A program that does not answer at all is given up, and told as what it is.
	if r := s.end(slow); r.State != "failed" || r.Diagnostic == nil || r.Diagnostic.Code != "start_timeout" {
		t.Errorf("given up: %+v", r)
	}
	l.release()

	// One that answers late is run.
	l = takeLease(t, leasedExe())
	slow = start(l)
	l.release()
	s.exited(s.end(slow), 0)
	if text := s.text(slow, "stdout"); text != "[\"78\"]\n" {
		t.Errorf("text %q", text)
	}

	// One that is killed before it answers never runs.
	l = takeLease(t, leasedExe())
	slow = start(l)
	if r := s.kill(slow); r.State != "killed" && r.State != "failed" {
		t.Errorf("killed while it starts: %+v", r)
	}
	l.release()
	if r := s.status(slow); r.Counts.StdoutBytes != 0 || !r.terminal() {
		t.Errorf("killed while it starts: %+v", r)
	}
}
