package sys

import (
	"os"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/linux"
)

// guardianChild is a guardian that was started by one exec instead of two and
// so is the supervisor's child: for a program that runs one command, which is
// often over before a second exec would be. A host that ends its server by
// walking parent numbers would meet it, so after childLife it starts another,
// which becomes nobody's child by that, and ends.
type guardianChild struct{ pidfd *linux.Pollable }

// startGuardianChild starts one, with further files from descriptor 3 up.
func (h *linuxHost) startGuardianChild(files []uintptr, dir string) (*guardianChild, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	fd := null.Fd()
	c, err := h.spawn.spawn(birthIn(nil, linux.SpawnAttr{
		Path: h.executable(), Argv: []string{helperName, roleGuardianChild, dir, h.marks.name()}, Env: helperEnv(), Dir: "/",
		Files: append([]uintptr{fd, fd, fd}, files...), OnDeath: syscall.SIGCONT,
	}), spawnLimit)
	if err != nil {
		return nil, err
	}
	poll, err := linux.NewPollable(c.Pidfd, "pidfd of the guardian")
	if err != nil {
		_ = syscall.Kill(c.PID, syscall.SIGKILL) // unreaped, so the number is its own
		_, _ = linux.ReapPID(c.PID)
		return nil, err
	}
	g := &guardianChild{pidfd: poll}
	if !linux.IsSecure() {
		g.signal(syscall.SIGSTOP)
		time.AfterFunc(hastyPause, func() { g.signal(syscall.SIGCONT) })
	}
	go g.collect()
	return g, nil
}

// collect reaps it when it ends.
func (c *guardianChild) collect() {
	_ = c.pidfd.Wait(func(fd int) bool { // fails only where the pidfd is none
		_, ended, err := linux.Reap(fd)
		return ended || err != nil
	})
	c.pidfd.Close()
}

// kill ends it, if there is one and it has not gone already.
func (c *guardianChild) kill() {
	if c != nil {
		c.signal(syscall.SIGKILL)
	}
}

// signal reaches it unless it has ended.
func (c *guardianChild) signal(sig syscall.Signal) {
	_ = c.pidfd.Use(func(fd int) { _ = linux.PidfdSignal(fd, sig) })
}
