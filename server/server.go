package server

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/hostwake"
	"github.com/belfry-dev/belfry/server/wire"
)

// Options describe a server. All of it may be zero.
type Options struct {
	// Version goes into serverInfo; "" is "0.0.0".
	Version string
	// Tools are served beside the seven.
	Tools []wire.Tool
	// Tasks knows the tasks that Tools mint; nil when they mint none.
	Tasks TaskSource
	// Hosts are the doors to the program that hosts the agent. For each job that
	// run leaves running, they are tried in order until one delivers, with every
	// new output and at its end. None means that nobody is woken.
	Hosts []hostwake.Transport
	// Thread gives one more door, tried last, to the thread that a run names in
	// params._meta.threadId. nil means that threads are not woken.
	Thread func(id string) hostwake.Transport
	// Detach gives every job a supervisor of its own, unless its run says
	// otherwise: job.Spec.Detach.
	Detach bool
	// Log takes diagnostics meant for stderr. nil drops them.
	Log func(format string, args ...any)
	// OnFirstReply, when not nil, is called once, from a goroutine of its own,
	// after the first reply of the server's life has been written: the place
	// for preparations that must not delay the opening exchange.
	OnFirstReply func()
	// OnEnd, when not nil, is called once for each connection, when nothing that
	// it has sent will start a job any more: at the end of its input once every
	// request but waiting follows is answered, or when it is told to end. The
	// follows are then answered by the end of their jobs, if that comes within
	// 2 s of the end of the input. It must not block.
	OnEnd func()
}

// Server serves the jobs of one store to any number of connections. It is
// safe for concurrent use.
type Server struct {
	store   *job.Store
	front   *wire.Front
	more    []wire.Tool // Options.Tools
	tasks   TaskSource  // may be nil
	hub     hub
	quiet   byJob[time.Time] // since when a job's output is no longer pushed
	wakes   wakes
	waiting places // of the whole process
	detach  bool   // Options.Detach
}

//go:embed instructions.md
var instructions string

// New builds a server over a store, which stays the caller's to close.
func New(s *job.Store, o Options) (*Server, error) {
	if o.Version == "" {
		o.Version = "0.0.0"
	}
	srv := &Server{
		store: s, more: o.Tools, tasks: o.Tasks,
		hub: hub{store: s}, wakes: wakes{hosts: o.Hosts, thread: o.Thread, log: o.Log},
		waiting: places{most: maxWaitingProcess}, detach: o.Detach,
	}
	front, err := wire.New(wire.Options{
		Name: "belfry", Title: "Belfry", Version: o.Version,
		Instructions: instructions,
		Tools:        srv.tools(),
		Extensions:   map[string]any{wire.TasksExtension: map[string]any{}},
		Methods:      srv.methods(),
		Resources:    true,
		Prompts:      true,
		Completions:  true,
		OnFirstReply: o.OnFirstReply,
		OnEnd:        o.OnEnd,
		Log:          o.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("build the protocol front: %w", err)
	}
	srv.front = front
	return srv, nil
}

// Serve serves one connection until its input ends (nil), ctx ends (its
// cause), or writing fails. Jobs outlive the connection: what becomes of them
// is the store's affair. in and out stay the caller's to close.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.front.Serve(ctx, in, out)
}

// Client is whom a connection belongs to, where a server has several clients.
type Client struct {
	// Origin is what of the client's surroundings counts for its jobs, and the
	// name that they are recorded with; nil is the store's own.
	Origin *job.Origin
	// Hosts are the doors to the program that hosts this client's agent, tried
	// after Options.Hosts.
	Hosts []hostwake.Transport
	// Detach is Options.Detach for this client's jobs.
	Detach bool
	// Drain, when not nil, is asked at the end of the input how long requests in
	// flight may still be answered; 0 is 2 s.
	Drain func() time.Duration
}

// ServeClient is Serve for one of several clients.
func (s *Server) ServeClient(ctx context.Context, in io.Reader, out io.Writer, c Client) error {
	return s.front.ServeConn(ctx, in, out, wire.ConnOptions{Tag: &c, Drain: c.Drain})
}

// clientOf is whom a call is for; nil where the server has one client alone.
func clientOf(c *wire.Call) *Client {
	who, _ := c.Conn.Tag().(*Client)
	return who
}

// tools is the table of tools, in the order in which clients show them.
func (s *Server) tools() []wire.Tool {
	return append([]wire.Tool{
		s.runTool(), s.statusTool(), s.listTool(), s.outputTool(), s.tailTool(), s.followTool(), s.killTool(),
	}, s.more...)
}

// methods is the table of the methods beside tools/call and the handshake.
func (s *Server) methods() map[string]wire.Method {
	all := map[string]wire.Method{
		"subscriptions/listen": {Eras: wire.Modern, Listen: true, Handle: s.listen},
	}
	for _, more := range []map[string]wire.Method{s.taskMethods(), s.resourceMethods(), s.promptMethods()} {
		maps.Copy(all, more)
	}
	return all
}
