// Package daemon starts a background process when somebody needs it, shares it
// between clients, and lets it end when nobody does.
//
//	cfg := daemon.Config{Name: "myapp", DataDir: ".myapp", Args: []string{"serve"}}
//	d := daemon.New(cfg)
//	info, err := d.EnsureRunning(ctx) // starts it if need be, once for any number of callers
//
// The process that is started calls [Serve] with the same configuration and an
// HTTP handler, a [Config.Stream], or both. Clients reach it through [Proxy], a
// bridge from standard input and output, through [Daemon.Dial], a stream of
// their own, or over HTTP through [ControlClient] and, on TCP, with the token
// of the PID file.
//
// # What a caller may rely on
//
// A daemon is found by asking it: EnsureRunning returns one only after it has
// said hello, so never one that is draining, hung, or somebody else's. Only the
// answer that nobody is there leads to a start. One that does not answer within
// 2 s is reported as unresponsive and not doubled.
//
// Of any number of starters one starts a process; the others wait for it. A
// process that dies on its way is reported at once, with its exit status and
// its last words.
//
// A client's lease is its connection: it ends with the client, however that
// dies. While somebody is attached, a request is in work or the application
// keeps the daemon ([Keep]), it does not idle out; whether it may leave and
// whether a client is let in are decided under one lock.
//
// A daemon that is told to stop takes nothing new, lets what is in work finish
// for [Config.ShutdownTimeout], then cancels it, and leaves.
//
// Processes are signalled by identity, process id and birth, and never by a
// number alone.
//
// # Transports
//
// [TCP] listens on a port of the loopback interface; what clients send is
// protected by a token in the PID file, and the daemon proves that it knows the
// token before a client of this package sends anything. [Socket] listens on a
// Unix domain socket, on Windows a named pipe, that only the same user reaches;
// the kernel tells both ends who the other is.
//
// The package is covered by the module's semantic version.
package daemon
