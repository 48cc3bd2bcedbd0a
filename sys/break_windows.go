package sys

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/belfry-dev/belfry/windows"
)

// breakLimit bounds the wait for the helper that sends CTRL_BREAK.
const breakLimit = 5 * time.Second

// The exit status of that helper: how many processes the console has, up to
// breakMost, or breakNone where none could be entered.
const (
	breakMost = 250
	breakNone = 251
)

// runBreak is that helper: GROUP MEMBER... One member's console is enough.
func runBreak(args []string) int {
	var pids []int
	for _, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil {
			return 2
		}
		pids = append(pids, n)
	}
	if len(pids) < 2 {
		return 2
	}
	for _, member := range pids[1:] {
		if n, err := windows.Break(pids[0], member); err == nil {
			return min(n, breakMost)
		}
	}
	return breakNone
}

// sendBreak sends CTRL_BREAK to the leader's process group: to those of its
// members that share a console with the job. Programs without a console, and
// those that left the group, do not hear of it.
func (t *jobTree) sendBreak() (Delivery, error) {
	if !initCalled.Load() {
		return Delivery{}, fmt.Errorf("CTRL_BREAK: %w: %w", ErrUnsupported, errInitNotCalled)
	}
	// While they are open their numbers mean no one else.
	open, err := t.openMembers()
	if err != nil {
		return Delivery{}, err
	}
	defer closeAll(open)
	if len(open) == 0 {
		return Delivery{}, nil
	}
	argv := []string{helperName, roleBreak, strconv.Itoa(t.leader.PID)}
	for _, p := range open {
		argv = append(argv, strconv.Itoa(p.PID))
	}
	env, err := withSystemRoot(nil)
	if err != nil {
		return Delivery{}, err
	}
	helper, err := windows.StartDetached(t.host.executable, argv, env)
	if err != nil {
		return Delivery{}, fmt.Errorf("start the helper for CTRL_BREAK: %w", err)
	}
	late := time.AfterFunc(breakLimit, func() { _ = helper.Kill() }) // Best effort: it may have ended.
	state, err := helper.Wait()
	late.Stop()
	switch {
	case err != nil:
		return Delivery{}, fmt.Errorf("wait for the helper for CTRL_BREAK: %w", err)
	case state.ExitCode() == breakNone:
		return Delivery{}, fmt.Errorf("CTRL_BREAK: %w: %w", ErrUnsupported, windows.ErrNoConsole)
	case state.ExitCode() < 0 || state.ExitCode() > breakMost:
		return Delivery{}, errors.New("the helper for CTRL_BREAK failed: " + state.String())
	}
	t.broken.Store(true)
	return Delivery{Sent: min(state.ExitCode(), len(open))}, nil
}

// openMembers opens those that live.
func (t *jobTree) openMembers() ([]*windows.Process, error) {
	pids, err := t.job.PIDs()
	if err != nil {
		return nil, err
	}
	var open []*windows.Process
	for _, pid := range pids {
		// One that ended meanwhile cannot be opened.
		if p, err := windows.OpenProcess(pid); err == nil {
			open = append(open, p)
		}
	}
	// A number on the second list is that of the process that was opened.
	again, err := t.job.PIDs()
	if err != nil {
		closeAll(open)
		return nil, err
	}
	return keepListed(open, again), nil
}

// keepListed closes those that are not on the list.
func keepListed(open []*windows.Process, pids []int) []*windows.Process {
	listed := map[int]bool{}
	for _, pid := range pids {
		listed[pid] = true
	}
	kept := open[:0]
	for _, p := range open {
		if listed[p.PID] {
			kept = append(kept, p)
		} else {
			_ = p.Close() // Best effort: it was only looked at.
		}
	}
	return kept
}

func closeAll(list []*windows.Process) {
	for _, p := range list {
		_ = p.Close() // Best effort: it was only looked at.
	}
}

// ownProgram is the program that is started again as the helper.
func ownProgram(o HostOptions) (string, error) {
	if o.Executable != "" {
		return o.Executable, nil
	}
	return os.Executable()
}
