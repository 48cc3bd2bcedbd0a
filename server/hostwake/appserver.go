package hostwake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// stayLimit is how long an app-server may take to finish the turn that it
	// started: it runs in that process and ends with it.
	stayLimit = 120 * time.Second
	// leaveLimit is how long an app-server whose input has ended may take to
	// exit.
	leaveLimit = 2 * time.Second
)

// AppServer wakes threads of an agent by setting a goal through an app-server
// of its host. Each attempt starts one and gives it its input's end when it is
// no longer needed, so that it also ends with this process. A thread has one at
// a time: the next attempt waits for the turn that an earlier one started.
type AppServer struct {
	version string
	command []string
	ctx     context.Context // of the app-servers that stay
	close   context.CancelFunc

	mu   sync.Mutex
	busy map[string]chan struct{} // by thread; closed when its turn is over
	live sync.WaitGroup
}

// NewAppServer makes the transport. version is this program's, told to the
// app-server; command is what starts one. It gets this process's environment
// and folder.
func NewAppServer(version string, command ...string) *AppServer {
	ctx, cancel := context.WithCancel(context.Background())
	return &AppServer{version: version, command: command, ctx: ctx, close: cancel,
		busy: map[string]chan struct{}{}}
}

// Close ends every app-server that is still running a turn and every attempt,
// and returns when all have exited. Attempts made later are Threw.
func (a *AppServer) Close() {
	a.mu.Lock()
	a.close()
	a.mu.Unlock()
	a.live.Wait()
}

// Thread gives the transport that wakes one thread of the host.
func (a *AppServer) Thread(id string) Transport { return thread{a, id} }

type thread struct {
	server *AppServer
	id     string
}

// Name implements Transport.
func (t thread) Name() string { return "codex-app-server-goal" }

// Wake implements Transport. It returns once a turn has started; the app-server
// stays until the turn's end, two minutes or Close.
func (t thread) Wake(ctx context.Context, payload string) Outcome {
	a := t.server
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(a.ctx, func() { cancel(errClosed) })
	defer stop()
	if err := a.enter(ctx, t.id); err != nil {
		return threw(err)
	}
	c, err := start(a.command)
	if err != nil {
		a.leave(t.id)
		o := unavailable("%v", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			o = o.forGood()
		}
		return o
	}
	g := &goal{thread: t.id}
	g.peer = newPeer(c.out, c.in, g.note)
	o := g.wake(ctx, a.version, payload)
	if o.Result != Delivered {
		c.end(g.peer)
		a.leave(t.id)
		return o
	}
	go func() {
		defer a.leave(t.id)
		within, cancel := context.WithTimeout(a.ctx, stayLimit)
		defer cancel()
		g.finish(within)
		c.end(g.peer)
	}()
	return o
}

// enter waits until no other attempt is at work on a thread. The error is what
// ended ctx, or errClosed.
func (a *AppServer) enter(ctx context.Context, id string) error {
	for {
		a.mu.Lock()
		if a.ctx.Err() != nil {
			a.mu.Unlock()
			return errClosed
		}
		other, busy := a.busy[id]
		if !busy {
			a.busy[id] = make(chan struct{})
			a.live.Add(1)
			a.mu.Unlock()
			return nil
		}
		a.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *AppServer) leave(id string) {
	a.mu.Lock()
	close(a.busy[id])
	delete(a.busy, id)
	a.mu.Unlock()
	a.live.Done()
}

var errClosed = errors.New("the transport is closed")

// child is an app-server that was started.
type child struct {
	cmd     *exec.Cmd
	in, out *os.File // our ends
	exited  chan struct{}
}

func start(command []string) (*child, error) {
	if len(command) == 0 {
		return nil, fmt.Errorf("start the app-server: %w", exec.ErrNotFound)
	}
	// Pipes of our own, since those of exec.Cmd are closed by its Wait, and with
	// them goes what has not been read.
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the app-server: %w", err)
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("start the app-server: %w", err)
	}
	defer theirOut.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	if err := cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start the app-server: %w", err)
	}
	c := &child{cmd: cmd, in: in, out: out, exited: make(chan struct{})}
	go func() {
		defer close(c.exited)
		_ = cmd.Wait() // how it exits changes nothing
	}()
	return c, nil
}

// end lets the app-server go, by force if it stays.
func (c *child) end(p *peer) {
	p.leave()
	c.in.Close()
	select {
	case <-c.exited:
	case <-time.After(leaveLimit):
		_ = c.cmd.Process.Kill() // it has exited otherwise
		<-c.exited
	}
	// The reader may wait for a process of the app-server that holds the pipe.
	c.out.Close()
}
