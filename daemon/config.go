package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Transport is how clients reach a daemon.
type Transport string

const (
	// TCP is a port of 127.0.0.1 with a bearer token; the default.
	TCP Transport = "tcp"
	// Socket is a Unix domain socket or a named pipe of this user alone.
	Socket Transport = "socket"
)

// Config says what a daemon is and how it is found; every program that starts
// or uses it has the same one. It is copied by New and never changed. Its zero
// values are the defaults that the fields name.
type Config struct {
	// Name is the application's name, the prefix of the files in DataDir. It
	// must be a file name that every system allows. Required.
	Name string
	// DataDir holds locks, records and the log; it is made when missing. A
	// relative one is taken from the working directory of New. With Socket it
	// must be this user's alone. Required.
	DataDir string
	// Binary is the program to start, with Args; "" is the running one.
	Binary string
	Args   []string
	// Dir is the working directory of the daemon; "" is DataDir.
	Dir string
	// Env is the environment of the daemon, KEY=value; nil is that of the
	// starter. Variables that tell it that it is the daemon are added.
	Env []string
	// Timeout bounds a start, the wait for another starter included; 0 is 30 s.
	Timeout time.Duration
	// HealthPath is where the daemon tells anybody that it lives; "" is /health.
	HealthPath string
	// IdleTimeout is how long the daemon stays without clients; 0 is for ever.
	// One to which nobody has attached yet stays for at least 1 s.
	IdleTimeout time.Duration
	// DisableTokenAuth opens the application's own handler to whoever reaches
	// the port; what is below /daemon/ is never open. TCP only.
	DisableTokenAuth bool
	// SpawnCooldown is the longest pause after failed starts, during which
	// EnsureRunning fails at once; the first is 1 s and each failure doubles it.
	// 0 is 30 s; negative is none.
	SpawnCooldown time.Duration
	// ShutdownTimeout is how long requests may go on after a stop; 0 is 10 s.
	// Then they are cancelled, and a fifth of it later they are left.
	ShutdownTimeout time.Duration

	// Transport is TCP unless set.
	Transport Transport
	// Version is the build, a semantic version; a client with a later one
	// replaces an idle daemon. "" takes no part in that.
	Version string
	// Capabilities are what the daemon can do beside the protocol.
	Capabilities []string
	// Requires are the capabilities that a client cannot do without. An idle
	// daemon that lacks one is replaced; a busy one is ErrVersion.
	Requires []string
	// Stream, when not nil, serves clients that attach for a stream: newline-
	// terminated lines both ways. ctx ends when the daemon has to leave, and
	// when the client's connection has failed; at the start of a drain conn's
	// input ends after a whole line. The lease ends when Stream returns.
	// [ClientOf] and [DrainOf] tell more.
	Stream func(ctx context.Context, conn net.Conn)
	// Keep holds the daemon while the application has work of its own; nil when
	// it never has.
	Keep *Keep
	// Report gives what the application tells in Info.App, as JSON; nil: nothing.
	Report func() any
	// Close is called by Serve when the last request has ended or was given up,
	// before the daemon lets another one start. ctx ends when a second signal
	// says that there is no time.
	Close func(ctx context.Context)
	// Log takes what Serve has to tell; nil is the daemon's log file, or nothing
	// where it runs in the foreground.
	Log *slog.Logger

	// protocol is the range of stream protocols; zero is this build's.
	protocol Range
}

// Validate reports what is wrong with a configuration; the error wraps
// ErrInvalidConfig.
func (c *Config) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalidConfig, fmt.Sprintf(format, args...))
	}
	if why := badName(c.Name); why != "" {
		return bad("Name %q %s", c.Name, why)
	}
	if c.DataDir == "" {
		return bad("DataDir is required")
	}
	switch p := c.HealthPath; {
	case p == "":
	case !strings.HasPrefix(p, "/"):
		return bad("HealthPath %q must begin with a slash", p)
	case p == "/" || p == "/daemon" || strings.HasPrefix(p, "/daemon/"):
		return bad("HealthPath %q is taken", p)
	case strings.ContainsAny(p, " {}\x00?#"):
		return bad("HealthPath %q must be a plain path", p)
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"Timeout", c.Timeout}, {"IdleTimeout", c.IdleTimeout}, {"ShutdownTimeout", c.ShutdownTimeout}} {
		if d.d < 0 {
			return bad("%s must not be negative", d.name)
		}
	}
	switch c.Transport {
	case "", TCP, Socket:
	default:
		return bad("Transport %q is not known; use %q or %q", c.Transport, TCP, Socket)
	}
	return nil
}

// badName says what keeps a name from being a file's name everywhere.
func badName(name string) string {
	switch {
	case name == "":
		return "is required"
	case name == "." || name == "..", strings.ContainsAny(name, "/\\"):
		return "must be a single path element"
	case strings.ContainsAny(name, "<>:\"|?*") || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "contains a character that not every file system takes"
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return "ends in a dot or a space"
	case len(name) > 200:
		return "is longer than 200 bytes"
	}
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch stem {
	case "CON", "PRN", "AUX", "NUL":
		return "is a device's name on Windows"
	}
	if len(stem) == 4 && (stem[:3] == "COM" || stem[:3] == "LPT") && stem[3] >= '0' && stem[3] <= '9' {
		return "is a device's name on Windows"
	}
	return ""
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	abs := func(p string) string {
		if a, err := filepath.Abs(p); p != "" && err == nil {
			return a
		}
		return p
	}
	c.DataDir = abs(c.DataDir)
	if c.Dir == "" {
		c.Dir = c.DataDir
	}
	c.Dir = abs(c.Dir)
	if c.Binary == "" {
		// Without it the start says that there is no program.
		c.Binary, _ = os.Executable()
	}
	or := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	or(&c.Timeout, 30*time.Second)
	or(&c.SpawnCooldown, 30*time.Second)
	or(&c.ShutdownTimeout, 10*time.Second)
	if c.HealthPath == "" {
		c.HealthPath = "/health"
	}
	if c.Transport == "" {
		c.Transport = TCP
	}
	if c.protocol == (Range{}) {
		c.protocol = Range{protocolMin, protocolMax}
	}
	return c
}
