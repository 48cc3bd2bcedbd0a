package sys

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Detached is a process that is to outlive the one that starts it: it has a
// session of its own (on Windows no console and, where that is allowed, no part
// in our job), nothing on standard input, and inherits no other descriptor than
// those named here. Its main should call Init, or CloseInherited, so that it
// lets go of what a starter without Init has left open.
type Detached struct {
	Path string   // absolute
	Argv []string // Argv[0] included
	Env  []string // KEY=value, the whole environment
	Dir  string   // working directory; "" is the starter's
	// Output receives standard output and error; nil drops them. It stays the
	// caller's to close.
	Output *os.File
	// Ready, when not nil, is the write end of a pipe, on which the process says
	// that it is ready; the environment variable ReadyVar tells it the
	// descriptor, for ReadyFile. It stays the caller's to close, which must
	// happen right after the start: else its read end never sees the end of a
	// process that dies.
	Ready    *os.File
	ReadyVar string
}

// Child is a detached process as its starter sees it.
type Child struct {
	id     ID
	exited chan struct{}
	exit   Exit
}

// StartDetached starts a process that outlives this one. While this one lives
// it collects the child's exit status.
func StartDetached(d Detached) (*Child, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", d.Path, err)
	}
	defer null.Close()
	out := d.Output
	if out == nil {
		out = null
	}
	attr := &os.ProcAttr{Dir: d.Dir, Env: d.Env, Files: []*os.File{null, out, out}}
	if d.Ready != nil {
		at := passOn(attr, d.Ready)
		attr.Env = append(without(attr.Env, d.ReadyVar), d.ReadyVar+"="+strconv.FormatUint(at, 10))
	}
	p, err := startDetached(d.Path, d.Argv, attr)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", d.Path, err)
	}
	// Read before the child can be reaped, so the number is its own. A child
	// that has ended already has no identity any more and needs none.
	id, err := Identify(p.Pid)
	if err != nil {
		id = ID{PID: p.Pid}
	}
	c := &Child{id: id, exited: make(chan struct{})}
	go c.wait(p)
	return c, nil
}

func (c *Child) wait(p *os.Process) {
	defer close(c.exited)
	state, err := p.Wait()
	if err != nil {
		return
	}
	c.exit = exitOf(state)
	c.exit.At = time.Now()
}

// ID is the child's identity: its number alone when it ended at once.
func (c *Child) ID() ID { return c.id }

// Exited is closed when the child has ended; Exit is valid then.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Exit is how the child ended.
func (c *Child) Exit() Exit {
	select {
	case <-c.exited:
		return c.exit
	default:
		return Exit{}
	}
}

// Kill ends the child and its descendants by force, also when the child itself
// has ended before, and returns once none is left or ctx ends.
func (c *Child) Kill(ctx context.Context) error { return endTree(ctx, c.id) }

// ReadyFile takes over the descriptor that Detached.Ready became. value is that
// of the environment variable; the file is nil when it names none.
func ReadyFile(value string) *os.File {
	at, err := strconv.ParseUint(value, 10, 63)
	if err != nil || !isOpen(uintptr(at)) {
		return nil
	}
	return os.NewFile(uintptr(at), "readiness pipe")
}

// without leaves a variable out of an environment.
func without(env []string, name string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return out
}
