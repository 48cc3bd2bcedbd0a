//go:build unix

package job

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/sys"
)

// stranger is a launcher whose tree ends at once while somebody outside it
// keeps the job's stdout open.
func stranger() (Launcher, <-chan *os.File) {
	out := make(chan *os.File, 1)
	return fakeLauncher{func(sp sys.Spec) (sys.Tree, error) {
		fd, err := syscall.Dup(int(sp.Stdio[1].Fd()))
		if err != nil {
			return nil, err
		}
		syscall.CloseOnExec(fd)
		out <- os.NewFile(uintptr(fd), "held")
		if _, err := sp.Stdio[1].WriteString("first\npart"); err != nil {
			return nil, err
		}
		tree := newFakeTree()
		tree.all(0, 0)
		return tree, nil
	}}, out
}

// A stranger that holds the pipe delays the end by half a second, loses
// nothing, and may go on speaking to the ended job.
func TestHeldPipe(t *testing.T) {
	launcher, held := stranger()
	s, sp := fakeStore(t, Config{})
	s.cfg.Launcher = launcher
	j := mustRun(t, s, sp)
	out := <-held
	<-j.Done()
	r := j.Snapshot()
	want(t, "state", r.State, Exited)
	want(t, "drained is false", isFalse(r.Drained), true)
	if took := r.Ended.Sub(r.Spawned); took < drainIdle {
		t.Errorf("gave up after %v", took)
	}
	p := j.Output(Query{})
	if len(p.Lines) != 2 || p.Lines[0].Text != "first" || p.Lines[1].Text != "part" || !p.Lines[1].Partial {
		t.Fatalf("at the end: %+v", p.Lines)
	}
	if _, err := out.WriteString("later\n"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := j.out().Await(ctx, func() bool { return j.Head(ring.SelBoth) == 3 }); err != nil {
		t.Fatal(err)
	}
	want(t, "appended", j.Output(Query{After: 2}).Lines[0].Text, "later")
	s.Close(t.Context())
	if _, err := out.WriteString("too late\n"); err == nil {
		t.Error("the pipe is open after Close")
	}
	out.Close()
}

// A stranger that never pauses is read for two seconds, not for ever.
func TestFloodedHeldPipe(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two seconds")
	}
	launcher, held := stranger()
	s, sp := fakeStore(t, Config{})
	s.cfg.Launcher = launcher
	j := mustRun(t, s, sp)
	out := <-held
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			if _, err := out.WriteString("flood flood flood flood flood flood\n"); err != nil {
				return
			}
		}
	}()
	<-j.Done()
	r := j.Snapshot()
	want(t, "drained is false", isFalse(r.Drained), true)
	if took := r.Ended.Sub(r.Spawned); took < drainBound {
		t.Errorf("gave up after %v", took)
	}
	s.Close(t.Context())
	<-stopped
	out.Close()
}

// Reclaiming an ended job's output lets go of a held pipe.
func TestReclaimClosesHeldPipe(t *testing.T) {
	launcher, held := stranger()
	s, sp := fakeStore(t, Config{MaxRetained: ptr(0)})
	s.cfg.Launcher = launcher
	sub := s.Subscribe(16)
	defer sub.Close()
	j := mustRun(t, s, sp)
	out := <-held
	for e := range sub.C {
		if e.Kind == EventEnded { // only then its output is under retention
			break
		}
	}
	want(t, "while a stranger may speak, only a record", isRecord(s, j.id), false)
	s.mu.Lock()
	s.sweepLocked(time.Now())
	s.mu.Unlock()
	s.live.Wait()
	want(t, "only a record", isRecord(s, j.id), true)
	if _, err := out.WriteString("x"); err == nil {
		t.Error("the pipe is open after the reclaim")
	}
	want(t, "lines", len(j.Output(Query{}).Lines), 0)
	out.Close()
	s.Close(t.Context())
}

// A pipe in the place of the policy file is refused at once, and a file put
// there later is taken.
func TestPolicyIsAPipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	c := &policyCache{file: PolicyFile{Path: file, Origin: "the test"}, path: DefaultPath}
	if _, err := c.load(time.Now()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"allow":["a"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := c.load(time.Now()); err != nil || len(p.Allow) != 1 {
		t.Errorf("a file in its place: %v, %v", p.Allow, err)
	}
}

// Nothing of a job is read before it is told to run: who has seen a line of it
// finds its process in the record.
func TestRunningBeforeItsFirstLine(t *testing.T) {
	s, sp := fakeStore(t, Config{})
	tree := newFakeTree()
	early := false
	s.cfg.Launcher = fakeLauncher{func(sp sys.Spec) (sys.Tree, error) {
		_, err := sp.Stdio[1].WriteString("hello\n")
		return tree, err
	}}
	tree.onLeader = func() {
		s.mu.Lock()
		j := s.order.Back().Value.(*Job)
		s.mu.Unlock()
		for range 1000 {
			early = early || j.Head(ring.SelBoth) > 0
			runtime.Gosched()
		}
	}
	j := mustRun(t, s, sp)
	want(t, "cause", j.Follow(t.Context(), 0, ring.SelBoth, time.Minute), CauseOutput)
	want(t, "state", j.Snapshot().State, Running)
	want(t, "read before the record said running", early, false)
	tree.all(0, 0)
	<-j.Done()
	s.Close(t.Context())
}
