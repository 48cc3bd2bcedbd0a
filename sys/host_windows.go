package sys

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-dev/belfry/windows"
)

// createLimit bounds the wait for CreateProcess, which a virus scanner may hold
// up for seconds.
const createLimit = 15 * time.Second

// windowsHost starts every tree in a Job Object of its own.
type windowsHost struct {
	port       *windows.Port
	executable string // is started again to send CTRL_BREAK
	// assign: a process is not born in its job but started suspended and
	// assigned. Set once the system has refused the first way.
	assign atomic.Bool

	mu     sync.Mutex
	trees  map[*jobTree]struct{} // not released yet
	closed bool
}

var errHostClosed = errors.New("the host is closed")

// jobGuarantee needs no helper: the kernel ends the job with its last handle,
// which is ours alone.
var jobGuarantee = Guarantee{
	Mechanism: JobObject, Kill: ScopeTree, LeaderExit: ScopeTree,
	SupervisorDeath: ScopeTree, HelperDeath: ScopeTree,
}

func newHost(o HostOptions) (Host, error) {
	if o.Mechanism != "" && o.Mechanism != JobObject {
		return nil, fmt.Errorf("mechanism %s: %w", o.Mechanism, ErrUnsupported)
	}
	program, err := ownProgram(o)
	if err != nil {
		return nil, err
	}
	port, err := windows.NewPort()
	if err != nil {
		return nil, err
	}
	return &windowsHost{port: port, executable: program, trees: map[*jobTree]struct{}{}}, nil
}

// Prepare has nothing to do: there is no helper.
func (h *windowsHost) Prepare() {}

// Sweep has nothing to do: the kernel ends a job with its supervisor.
func (h *windowsHost) Sweep(context.Context) ([]SweepResult, error) { return nil, nil }

func (h *windowsHost) Lookup(pid int) (ID, error) {
	p, err := windows.OpenProcess(pid)
	if err != nil {
		return ID{}, err
	}
	defer p.Close()
	return idOf(p), nil
}

func idOf(p *windows.Process) ID { return ID{PID: p.PID, Birth: p.Birth, Kind: BirthFiletime} }

// Start takes any Spec.Want: a Job Object is as strict as it gets.
func (h *windowsHost) Start(ctx context.Context, sp Spec) (Tree, error) {
	if err := sp.validate(); err != nil {
		return nil, err
	}
	if err := look(ctx, &sp); err != nil {
		return nil, err
	}
	if (sp.Approved != FileStamp{}) {
		// Held until the program is loaded: nobody can change it in between.
		pin, id, err := windows.Pin(sp.Path)
		if err != nil {
			return nil, createError(&sp, err)
		}
		defer pin.Close()
		if stampOf(id) != sp.Approved {
			return nil, &StartError{Code: CodeChanged, Path: sp.Path,
				Detail: "is not the file that was approved: it was replaced or written since"}
		}
	}
	start, err := newStart(&sp)
	if err != nil {
		return nil, createError(&sp, err)
	}
	t, err := h.create(ctx, start, sp.Limits)
	if err != nil {
		return nil, createError(&sp, err)
	}
	return t, nil
}

// newStart puts the arguments on a command line, as the program wants it, and
// copies the handles.
func newStart(sp *Spec) (windows.Start, error) {
	s := windows.Start{Path: sp.Path, Dir: sp.Dir}
	var err error
	if s.Env, err = withSystemRoot(sp.Env); err != nil {
		return s, err
	}
	switch {
	case windows.IsBatch(sp.Path):
		script := sp.Path
		if s.Path, err = systemShell(); err == nil {
			s.CommandLine, err = windows.BatchCommandLine(s.Path, script, sp.Argv[1:])
		}
	case isShellCall(sp.Argv):
		s.CommandLine, err = windows.ShellCommandLine(sp.Argv[0], sp.Argv[4])
	default:
		s.CommandLine, err = windows.CommandLine(sp.Argv)
	}
	if err != nil {
		return s, commandLineError(sp.Path, err)
	}
	var from [3]uintptr
	for i, f := range sp.Stdio {
		// Not File.Fd, which would take a file away from the runtime's poller.
		raw, err := f.SyscallConn()
		if err == nil {
			err = raw.Control(func(h uintptr) { from[i] = h })
		}
		if err != nil {
			return s, &StartError{Code: CodeSpawn, Path: sp.Path, Detail: fmt.Sprintf("descriptor %d is closed", i), Err: err}
		}
	}
	s.Stdio, err = windows.NewStdio(from)
	runtime.KeepAlive(sp.Stdio)
	return s, err
}

// withSystemRoot adds the one variable without which hardly any program starts:
// the libraries that it loads are found by it.
func withSystemRoot(env []string) ([]string, error) {
	const name = "SystemRoot="
	for _, kv := range env {
		if len(kv) > len(name) && strings.EqualFold(kv[:len(name)], name) {
			return env, nil
		}
	}
	dir, err := windows.SystemDirectory()
	return append(slices.Clip(env), name+filepath.Dir(dir)), err
}

// systemShell is the system's own cmd.exe, whatever the environment says.
func systemShell() (string, error) {
	dir, err := windows.SystemDirectory()
	return filepath.Join(dir, "cmd.exe"), err
}

// create makes the job and the process in it, bounded by createLimit, and lets
// go of the handles. A process that appears after that is ended with its job.
func (h *windowsHost) create(ctx context.Context, s windows.Start, l Limits) (*jobTree, error) {
	type answer struct {
		tree *jobTree
		err  error
	}
	ch := make(chan answer, 1)
	var taken atomic.Bool
	go func() {
		t, err := h.createNow(s, l)
		// Best effort: copies of ours, which are of no use any more.
		_ = s.Stdio.Close()
		if taken.CompareAndSwap(false, true) {
			ch <- answer{t, err}
		} else if err == nil {
			t.abandon()
		}
	}()
	timer := time.NewTimer(createLimit)
	defer timer.Stop()
	var late error
	select {
	case a := <-ch:
		return a.tree, a.err
	case <-timer.C:
		late = startTimeout(s.Path, createLimit)
	case <-ctx.Done():
		late = ctx.Err()
	}
	if taken.CompareAndSwap(false, true) {
		return nil, late
	}
	a := <-ch
	return a.tree, a.err
}

func (h *windowsHost) createNow(s windows.Start, l Limits) (*jobTree, error) {
	job, err := windows.NewJob()
	if err != nil {
		return nil, err
	}
	limits, err := setLimits(job, l)
	if err != nil {
		return nil, errors.Join(err, job.Close())
	}
	t := &jobTree{host: h, job: job, limits: limits, wake: make(chan struct{}, 1), given: make(chan struct{}),
		exited: make(chan struct{}), emptiness: newEmptiness(), done: make(chan struct{})}
	if t.forget, err = h.port.Associate(job, t.ring); err != nil {
		return nil, errors.Join(err, job.Close())
	}
	s.Suspended = h.assign.Load()
	p, err := job.Start(s)
	if !s.Suspended && (errors.Is(err, windows.ErrNotSupported) || errors.Is(err, windows.ErrBadParameter)) {
		// The system does not know the attribute, or not beside an outer job.
		s.Suspended = true
		if p, err = job.Start(s); err == nil {
			h.assign.Store(true)
		}
	}
	if err != nil {
		t.forget()
		return nil, errors.Join(err, job.Close())
	}
	t.leader = p
	if err := t.watch(); err != nil {
		t.abandon()
		return nil, err
	}
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.trees[t] = struct{}{}
	}
	h.mu.Unlock()
	if closed {
		t.abandon()
		return nil, errHostClosed
	}
	go t.run()
	return t, nil
}

// Close ends what was not released, as the death of this process would.
func (h *windowsHost) Close() error {
	h.mu.Lock()
	h.closed = true
	var left []*jobTree
	for t := range h.trees {
		left = append(left, t)
	}
	h.mu.Unlock()
	var errs []error
	for _, t := range left {
		errs = append(errs, t.Release())
	}
	return errors.Join(append(errs, h.port.Close())...)
}
