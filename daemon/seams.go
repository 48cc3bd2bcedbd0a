package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// PIDStore keeps the record of a daemon.
type PIDStore interface {
	Save(pid, port int, name, binary string, startTime time.Time) error
	Load() (PIDInfo, error)
	Clear() error
	IsAlive() bool // the recorded daemon still runs
	Path() string
}

// PIDInfo is the record of a daemon.
type PIDInfo struct {
	PID       int       `json:"pid"`
	Port      int       `json:"port"`
	Name      string    `json:"name"`
	Binary    string    `json:"binary"`
	StartTime time.Time `json:"startTime"`
	Token     string    `json:"token,omitempty"`
}

// StartSpec is a process to start.
type StartSpec struct {
	Binary     string
	Args       []string
	Dir        string
	Env        []string
	LogFile    string
	ExtraFiles []*os.File
}

// ProcessManager starts and ends processes.
type ProcessManager interface {
	Start(ctx context.Context, spec StartSpec) (pid int, err error)
	KillProcess(ctx context.Context, pid int, grace time.Duration) error
	IsProcessAlive(pid int) bool
}

// HealthChecker asks a daemon whether it serves.
type HealthChecker interface {
	Check(port int, healthPath string) error
	WaitUntilReady(ctx context.Context, port int, healthPath string, timeout time.Duration) error
}

// NewWithDeps is New over doubles, for the tests of programs that use this
// package: every method then works through the three of them alone and touches
// neither processes nor files nor the network. Holds and cooldowns live in
// memory; DialWith, Proxy and ControlClient are not covered.
func NewWithDeps(cfg Config, pids PIDStore, procs ProcessManager, health HealthChecker) *Daemon {
	d := New(cfg)
	d.seams = &seams{d: d, pids: pids, procs: procs, health: health}
	return d
}

// recordPoll is between two looks for the record of a process that starts.
const recordPoll = 20 * time.Millisecond

type seams struct {
	d      *Daemon
	pids   PIDStore
	procs  ProcessManager
	health HealthChecker

	mu       sync.Mutex // of every method that changes something
	held     *Held
	cooldown *Cooldown
}

func (s *seams) ensure(ctx context.Context) (*Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if info, err := s.running(); info != nil || err != nil {
		return info, err
	}
	now := time.Now()
	switch {
	case s.held != nil && (s.held.Until.IsZero() || now.Before(s.held.Until)):
		return nil, wrap("ensure running", s.d.cfg.Name, &HeldError{*s.held})
	case s.cooldown != nil && now.Before(s.cooldown.Until) && s.d.cfg.SpawnCooldown > 0:
		return nil, wrap("ensure running", s.d.cfg.Name, &CooldownError{*s.cooldown})
	}
	return s.spawn(ctx)
}

func (s *seams) start(ctx context.Context) (*Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = nil
	info, err := s.running()
	if err != nil {
		return nil, err
	}
	if info != nil {
		return nil, wrap("start", s.d.cfg.Name, alreadyRunning(info))
	}
	return s.spawn(ctx)
}

// running gives the daemon that runs, nil when none does.
func (s *seams) running() (*Info, error) {
	if !s.pids.IsAlive() {
		return nil, nil
	}
	r, err := s.pids.Load()
	if err != nil {
		return nil, wrap("look at", s.d.cfg.Name, err)
	}
	if err := s.health.Check(r.Port, s.d.cfg.HealthPath); err != nil {
		return nil, wrap("look at", s.d.cfg.Name, fmt.Errorf("%w: process %d: %w", ErrUnhealthy, r.PID, err))
	}
	return s.info(r), nil
}

func (s *seams) info(r PIDInfo) *Info {
	return &Info{Status: StatusRunning, State: StateRunning, PID: r.PID, Port: r.Port, Name: r.Name, StartTime: r.StartTime,
		Uptime: time.Since(r.StartTime), Held: s.held}
}

func (s *seams) spawn(ctx context.Context) (*Info, error) {
	info, err := s.launch(ctx)
	if err == nil {
		s.cooldown = nil
		return info, nil
	}
	if ctx.Err() == nil && s.d.cfg.SpawnCooldown > 0 {
		c := nextCooldown(s.cooldown, s.d.cfg.SpawnCooldown, time.Now(), err.Error())
		s.cooldown = &c
	}
	return nil, wrap("start", s.d.cfg.Name, err)
}

func (s *seams) launch(ctx context.Context) (*Info, error) {
	limited, cancel := context.WithTimeoutCause(ctx, s.d.cfg.Timeout, ErrStartTimeout)
	defer cancel()
	pid, err := s.procs.Start(limited, StartSpec{
		Binary: s.d.cfg.Binary, Args: s.d.cfg.Args, Dir: s.d.cfg.Dir, Env: s.d.cfg.Env, LogFile: s.d.files.log,
	})
	if err != nil {
		return nil, &StartError{Reason: err.Error()}
	}
	r, err := s.await(limited, pid)
	if err == nil {
		err = s.health.WaitUntilReady(limited, r.Port, s.d.cfg.HealthPath, s.d.cfg.Timeout)
	}
	if err != nil {
		kill := s.procs.KillProcess(context.WithoutCancel(ctx), pid, 0)
		return nil, errors.Join(err, kill)
	}
	return s.info(r), nil
}

// await waits for the record of the process that was started.
func (s *seams) await(ctx context.Context, pid int) (PIDInfo, error) {
	tick := time.NewTicker(recordPoll)
	defer tick.Stop()
	for {
		if r, err := s.pids.Load(); err == nil && r.PID == pid && r.Port > 0 {
			return r, nil
		}
		if !s.procs.IsProcessAlive(pid) {
			return PIDInfo{}, &StartError{Exited: true, Reason: fmt.Sprintf("process %d is gone", pid)}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return PIDInfo{}, &StartError{Err: context.Cause(ctx)}
		}
	}
}

func (s *seams) stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopLocked(ctx)
}

func (s *seams) stopLocked(ctx context.Context) error {
	if !s.pids.IsAlive() {
		return nil
	}
	r, err := s.pids.Load()
	if err != nil {
		return wrap("stop", s.d.cfg.Name, err)
	}
	if err := s.procs.KillProcess(ctx, r.PID, s.d.cfg.ShutdownTimeout); err != nil {
		return wrap("stop", s.d.cfg.Name, err)
	}
	return nil
}

func (s *seams) hold(ctx context.Context, h Held) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = &h
	if err := s.stopLocked(ctx); err != nil {
		return fmt.Errorf("starts are forbidden, and it still runs: %w", err)
	}
	return nil
}

func (s *seams) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = nil
}

func (s *seams) status() *Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := s.running()
	switch {
	case err != nil:
		return &Info{Status: StatusError, State: StateUnresponsive, Name: s.d.cfg.Name, Held: s.held}
	case info != nil:
		return info
	case s.held != nil:
		return &Info{State: StateHeld, Name: s.d.cfg.Name, Held: s.held}
	}
	return &Info{State: StateStopped, Name: s.d.cfg.Name}
}
