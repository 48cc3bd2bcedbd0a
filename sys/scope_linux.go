package sys

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// systemdRun asks systemd for a scope without a bus library, and anchor is what
// keeps the scope open: it ends with the pipe on its stdin, which only we hold.
const (
	systemdRun = "/usr/bin/systemd-run"
	anchor     = "/bin/cat"
)

const (
	scopeLimit = 5 * time.Second       // for systemd to make a scope
	scopeLook  = 10 * time.Millisecond // between two looks whether it has: there is no event for that
)

// scope is a transient unit of systemd, delegated to us, one for a host.
type scope struct {
	dir   string
	leaf  *linux.Cgroup // of the anchor, beside our containers
	stdin *os.File
	done  chan struct{} // the anchor has ended
	once  sync.Once
}

// inScope makes the directory in a scope that systemd makes for it. It is the
// last way: the other ones need nobody.
func (h *linuxHost) inScope(ctx context.Context) (*cgroupRung, map[string]noLimit) {
	s, err := h.openScope(ctx)
	if err != nil {
		return nil, allLack(noLimit{LimitNotDelegated, "no scope can be had from systemd: " + err.Error(), delegateRemedy()})
	}
	r, lacks := h.divide(s.dir, false, s)
	if r == nil {
		s.close()
	}
	return r, lacks
}

// scopeArgs is the command that makes a scope and becomes its anchor.
func (h *linuxHost) scopeArgs(unit string) []string {
	args := append([]string{}, h.limiter.runner...)
	if len(args) == 0 {
		args = append(args, systemdRun)
	}
	if os.Geteuid() != 0 {
		args = append(args, "--user")
	}
	return append(args, "--scope", "--collect", "--quiet", "--property=Delegate=yes", "--unit="+unit, "--", anchor)
}

func (h *linuxHost) openScope(ctx context.Context) (*scope, error) {
	unit := containerPrefix + randomName() + ".scope"
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdinR.Close()
	said, saidW, err := os.Pipe()
	if err != nil {
		stdinW.Close()
		return nil, err
	}
	defer said.Close()
	args := h.scopeArgs(unit)
	l, err := h.spawnLeader(birthIn(nil, linux.SpawnAttr{Path: args[0], Argv: args, Env: scopeEnv(), Dir: "/",
		Files: []uintptr{stdinR.Fd(), saidW.Fd(), saidW.Fd()}}))
	saidW.Close()
	if err != nil {
		stdinW.Close()
		return nil, err
	}
	s := &scope{stdin: stdinW, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_ = l.observe() // an error means that the host was closed
		l.finish()
	}()
	if err := s.await(ctx, l.id.PID, unit); err != nil {
		l.signalSelf(SIGKILL)
		s.close()
		return nil, scopeError(err, said)
	}
	return s, nil
}

// await waits until the anchor runs in its scope, and moves it beside where the
// containers will be: the scope itself may hold no process then.
func (s *scope) await(ctx context.Context, pid int, unit string) error {
	ctx, cancel := context.WithTimeout(ctx, scopeLimit)
	defer cancel()
	for tick := time.NewTicker(scopeLook); ; {
		dir, err := linux.CgroupOf(pid)
		st, serr := linux.ReadStat("/proc", pid)
		if err == nil && serr == nil && filepath.Base(dir) == unit && st.Comm == filepath.Base(anchor) {
			tick.Stop()
			s.dir = dir
			s.leaf, err = linux.MakeCgroup(dir, containerPrefix+"anchor")
			if err == nil {
				err = s.leaf.Take(pid)
			}
			return err
		}
		select {
		case <-tick.C:
		case <-s.done:
			return fmt.Errorf("%s has ended", filepath.Base(systemdRun))
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", filepath.Base(systemdRun), ctx.Err())
		}
	}
}

// close lets the anchor go, and with it the scope, once nothing else is in it.
func (s *scope) close() {
	if s == nil {
		return
	}
	s.once.Do(func() {
		s.stdin.Close()
		<-s.done
		if s.leaf != nil {
			_ = s.leaf.Remove() // Best effort: systemd removes the scope whole.
		}
	})
}

// scopeEnv lets systemd-run find the user's manager.
func scopeEnv() []string {
	env := []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	if dir := fmt.Sprintf("/run/user/%d", os.Geteuid()); os.Geteuid() != 0 {
		env = append(env, "XDG_RUNTIME_DIR="+dir, "DBUS_SESSION_BUS_ADDRESS=unix:path="+dir+"/bus")
	}
	return env
}

// scopeError adds the first line of what systemd-run said.
func scopeError(err error, said *os.File) error {
	_ = said.SetReadDeadline(time.Now().Add(scopeLook))
	text, _ := io.ReadAll(io.LimitReader(said, 1024)) // Best effort: it is only for people.
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if line == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, line)
}

// delegateRemedy is what starts belfry where it has all controllers.
func delegateRemedy() string {
	switch {
	case !linux.SystemdRuns():
		return "start it alone in a writable cgroup v2 group whose cgroup.controllers has memory, pids and cpu"
	case os.Geteuid() == 0:
		return "start it in a scope of its own: systemd-run --scope -p Delegate=yes -- belfry ..."
	}
	return "start it in a scope of its own: systemd-run --user --scope -p Delegate=yes -- belfry ..."
}
