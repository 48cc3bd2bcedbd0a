package sys

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-dev/belfry/windows"
)

// killCode is the exit code that members get from Kill: 128 + SIGKILL, by which
// a leader that was ended is told from one that ended.
const killCode = 128 + uint32(SIGKILL)

// jobTree is a leader and all it started, in one Job Object.
type jobTree struct {
	emptiness
	host   *windowsHost
	job    *windows.Job
	leader *windows.Process
	forget func() // ends the port's messages
	unwait func() // ends the wait for the leader
	limits []LimitRecord
	met    metLimits

	wake   chan struct{} // something happened in the job; holds one
	ended  chan struct{} // the leader's handle was signalled
	killed atomic.Bool   // Kill was called
	broken atomic.Bool   // CTRL_BREAK was sent

	exited chan struct{}
	exit   Exit // valid once exited is closed

	given    chan struct{} // closed by Release
	done     chan struct{} // run has ended
	releases sync.Once
	last     Usage // valid once released
}

// ring takes a message of the job and wakes run. It never blocks.
func (t *jobTree) ring(m windows.Message) {
	t.met.hear(m)
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// watch has the end of the leader reported.
func (t *jobTree) watch() (err error) {
	t.ended = make(chan struct{})
	t.unwait, err = t.leader.OnExit(func() { close(t.ended) })
	return err
}

// abandon ends a tree that nobody was given.
func (t *jobTree) abandon() {
	t.forget()
	if t.unwait != nil {
		t.unwait()
	}
	// Best effort: closing the job ends what is in it.
	_ = t.job.Close()
	_ = t.leader.Close()
}

// run is the tree's owner: it observes the leader's end and then the job's
// emptiness. Messages of the job may be lost by contract, so its account is
// read again now and then beside them.
func (t *jobTree) run() {
	defer close(t.done)
	select {
	case <-t.ended:
	case <-t.given:
		return
	}
	t.exit = Exit{At: time.Now(), Code: -1}
	if code, err := t.leader.ExitCode(); err == nil {
		t.exit.Code = int(code)
		if code == killCode && t.killed.Load() {
			t.exit.Code, t.exit.Signal = 0, SIGKILL
		}
		if code == windows.ControlCExit && t.broken.Load() {
			t.exit.Code, t.exit.Signal = 0, SIGTERM
		}
	}
	close(t.exited)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		if a, err := t.job.Accounting(); err == nil && a.Active == 0 {
			t.prove(ProofJobZero)
			return
		}
		timer.Reset(pause)
		select {
		case <-t.wake:
		case <-timer.C:
		case <-t.given:
			return
		}
	}
}

func (t *jobTree) Leader() ID              { return idOf(t.leader) }
func (t *jobTree) Guarantee() Guarantee    { return jobGuarantee }
func (t *jobTree) Exited() <-chan struct{} { return t.exited }

// Stopped: Windows has no stopped processes.
func (t *jobTree) Stopped() bool { return false }

func (t *jobTree) Limits() []LimitRecord { return t.limits }

// Evidence: without limits none is met.
func (t *jobTree) Evidence() LimitEvidence { return t.met.evidence(t.limits) }

func (t *jobTree) Exit() Exit {
	select {
	case <-t.exited:
		return t.exit
	default:
		return Exit{}
	}
}

// Signal sends SIGKILL, and SIGTERM as CTRL_BREAK; any other is ErrUnsupported.
func (t *jobTree) Signal(sig Signal) (Delivery, error) {
	if sig == SIGTERM {
		return t.sendBreak()
	}
	if sig != SIGKILL {
		return Delivery{}, fmt.Errorf("%v: %w", sig, ErrUnsupported)
	}
	a, err := t.job.Accounting()
	if err != nil {
		return Delivery{}, err
	}
	t.killed.Store(true)
	if err := t.job.Terminate(killCode); err != nil {
		return Delivery{}, err
	}
	return Delivery{Sent: a.Active}, nil
}

// Kill repeats until the job is empty: a process that was being born in it
// while the others ended is met by the next round.
func (t *jobTree) Kill(ctx context.Context) (KillReport, error) {
	begin := time.Now()
	report := func(p Proof, left []Member) KillReport {
		return KillReport{Proof: p, Survivors: left, Took: time.Since(begin)}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var killErr error
	for pause := time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		if t.Proof() != ProofNone {
			return report(ProofJobZero, nil), nil
		}
		t.killed.Store(true)
		killErr = t.job.Terminate(killCode)
		timer.Reset(pause)
		select {
		case <-t.empty:
		case <-t.given:
			return report(ProofNone, nil), os.ErrClosed
		case <-ctx.Done():
			left, _ := t.Members()
			if killErr == nil {
				killErr = ctx.Err()
			}
			return report(ProofNone, left), killErr
		case <-timer.C:
		}
	}
}

// Members is the kernel's own list, read twice: a number on the second list is
// that of the process that was opened in between, because an open handle keeps
// it from being given out again.
func (t *jobTree) Members() ([]Member, Completeness) {
	open, err := t.openMembers()
	if err != nil {
		return nil, BestEffort
	}
	defer closeAll(open)
	list := make([]Member, 0, len(open))
	for _, p := range open {
		list = append(list, Member{ID: idOf(p), Command: commandOf(p)})
	}
	return list, Exact
}

// commandOf names a process by its program's file, or as the process table does.
func commandOf(p *windows.Process) string {
	if name, err := p.Name(); err == nil {
		return name
	}
	table, err := Processes()
	if err != nil {
		return ""
	}
	for _, row := range table {
		if row.ID.PID == p.PID {
			return row.Name
		}
	}
	return ""
}

// Usage is the job's account. Its input and output counts are of every handle,
// pipes included, so they do not tell what went to storage.
func (t *jobTree) Usage() Usage {
	u := t.usage()
	select {
	case <-t.given:
		return t.last // the job may have been closed in between
	default:
		return u
	}
}

func (t *jobTree) usage() Usage {
	u := Usage{CPU: -1, PeakMemory: -1, IORead: -1, IOWrite: -1, PeakProcesses: -1}
	if a, err := t.job.Accounting(); err == nil {
		u.CPU = a.CPU
	}
	if n, err := t.job.PeakMemory(); err == nil && n > 0 {
		u.PeakMemory = n
	}
	return u
}

// Release closes the job; what is still in it is ended by the kernel.
func (t *jobTree) Release() error {
	var err error
	t.releases.Do(func() {
		t.last = t.usage()
		close(t.given)
		<-t.done
		t.unwait()
		t.forget()
		t.host.mu.Lock()
		delete(t.host.trees, t)
		t.host.mu.Unlock()
		err = t.job.Close()
		if cerr := t.leader.Close(); err == nil {
			err = cerr
		}
	})
	return err
}
