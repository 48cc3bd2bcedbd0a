package server

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// puppet is a tree without processes, moved by a test: it prints through real
// pipes and ends when it is told to, or by default when it is asked to.
type puppet struct {
	out, err *os.File // our copies of its streams
	stubborn bool     // ignores SIGTERM

	mu      sync.Mutex
	exit    sys.Exit
	exited  chan struct{}
	empty   chan struct{}
	stopped bool
}

func (p *puppet) print(stream *os.File, text string) {
	if _, err := stream.WriteString(text); err != nil {
		panic(err)
	}
}

// leave closes the streams and ends the leader and its tree.
func (p *puppet) leave(code int, sig sys.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited:
		return
	default:
	}
	p.out.Close()
	p.err.Close()
	p.exit = sys.Exit{Code: code, Signal: sig, At: time.Now()}
	close(p.exited)
	close(p.empty)
}

func (p *puppet) Leader() sys.ID {
	return sys.ID{PID: 4711, Birth: 123456789, Kind: sys.BirthStartTicks}
}
func (p *puppet) Guarantee() sys.Guarantee {
	return sys.Guarantee{Mechanism: sys.CgroupV2, Kill: sys.ScopeTree, LeaderExit: sys.ScopeTree,
		SupervisorDeath: sys.ScopeTree, HelperDeath: sys.ScopeTreeOnRestart}
}
func (p *puppet) Exited() <-chan struct{} { return p.exited }
func (p *puppet) Ended() bool             { return over(p.exited) }
func (p *puppet) Empty() <-chan struct{}  { return p.empty }
func (p *puppet) Proof() sys.Proof        { return sys.ProofCgroupEmpty }
func (p *puppet) Exit() sys.Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

func (p *puppet) Signal(s sys.Signal) (sys.Delivery, error) {
	switch {
	case s == sys.SIGTERM && !p.stubborn:
		p.leave(0, s)
	case s != sys.SIGTERM:
		p.print(p.out, "got "+s.String()+"\n")
	}
	return sys.Delivery{Sent: 1}, nil
}

func (p *puppet) Kill(context.Context) (sys.KillReport, error) {
	p.leave(0, sys.SIGKILL)
	return sys.KillReport{Proof: sys.ProofCgroupEmpty}, nil
}

func (p *puppet) Members() ([]sys.Member, sys.Completeness) { return nil, sys.Exact }
func (p *puppet) Stopped() bool                             { return p.stopped }
func (p *puppet) Limits() []sys.LimitRecord                 { return nil }
func (p *puppet) Evidence() sys.LimitEvidence               { return sys.LimitEvidence{} }
func (p *puppet) Release() error                            { return nil }
func (p *puppet) Usage() sys.Usage {
	return sys.Usage{CPU: 1500 * time.Microsecond, PeakMemory: 1 << 20, IORead: 0, IOWrite: -1, PeakProcesses: 1}
}

// stage starts puppets; play, when not nil, moves each of them from its start.
type stage struct {
	play func(p *puppet, sp sys.Spec)

	mu      sync.Mutex
	puppets []*puppet
	specs   []sys.Spec
}

func (s *stage) Start(_ context.Context, sp sys.Spec) (sys.Tree, error) {
	p := &puppet{exited: make(chan struct{}), empty: make(chan struct{})}
	var err error
	if p.out, err = dup(sp.Stdio[1]); err != nil {
		return nil, err
	}
	if p.err, err = dup(sp.Stdio[2]); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.puppets, s.specs = append(s.puppets, p), append(s.specs, sp)
	s.mu.Unlock()
	if s.play != nil {
		s.play(p, sp)
	}
	return p, nil
}

// at gives the puppet that was started as the n-th, from 0.
func (s *stage) at(n int) *puppet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.puppets[n]
}

// theatre is a server over a stage. tool is a program that its policy allows
// and that never runs.
type theatre struct {
	*Server
	t     testing.TB
	stage *stage
	tool  string
}

func newTheatre(t testing.TB, play func(p *puppet, sp sys.Spec), edit func(c *job.Config)) *theatre {
	t.Helper()
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool.exe")
	if err := os.WriteFile(tool, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	st := &stage{play: play}
	c := job.Config{Launcher: st, Dir: dir, Policy: job.PolicyFile{Path: systest.Policy(t, tool), Origin: "BELFRY_POLICY_FILE"}}
	if edit != nil {
		edit(&c)
	}
	store, err := job.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(context.Background()) })
	srv, err := New(store, Options{Version: "1.2.3", Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	return &theatre{Server: srv, t: t, stage: st, tool: tool}
}
