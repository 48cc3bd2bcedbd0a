package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Daemon is a daemon as those see it who use it. Its methods are safe for
// concurrent use, by other processes too.
type Daemon struct {
	cfg   Config
	files files
	door  door
	seams *seams // not nil: everything goes through the doubles of NewWithDeps
}

// New describes a daemon. It does nothing yet and never fails: what is wrong
// with the configuration is said by the first method that needs it.
func New(cfg Config) *Daemon {
	invalid := cfg.Validate() != nil
	full := cfg.withDefaults()
	if invalid {
		full = cfg
	}
	f := filesOf(full)
	return &Daemon{cfg: full, files: f, door: doorOf(full, f)}
}

// EnsureRunning gives the port of a running daemon, on Socket 0, and starts one
// if need be.
func EnsureRunning(ctx context.Context, cfg Config) (port int, err error) {
	info, err := New(cfg).EnsureRunning(ctx)
	if err != nil {
		return 0, err
	}
	return info.Port, nil
}

// EnsureRunning gives the daemon that runs, and starts one if nobody answers.
// A daemon that runs is given also while it is held or cooling down. One that
// drains is waited for, and the new one is given.
//
// Errors: *HeldError, *CooldownError, *StartError, *UnresponsiveError,
// ErrVersion, ErrUnavailable, and the cause of ctx, which is no failed start.
func (d *Daemon) EnsureRunning(ctx context.Context) (*Info, error) {
	if err := d.cfg.Validate(); err != nil {
		return nil, err
	}
	if d.seams != nil {
		return d.seams.ensure(ctx)
	}
	f, err := d.ensure(ctx, greeting{Role: roleControl}, false)
	if err != nil {
		return nil, wrap("ensure running", d.cfg.Name, err)
	}
	defer f.link.Close()
	return f.link.hello.info(), nil
}

// Start starts a daemon by the user's own decision: it ends a hold and heeds no
// cooldown. One that runs already is ErrAlreadyRunning. Other errors are those
// of EnsureRunning.
func (d *Daemon) Start(ctx context.Context) (*Info, error) {
	if err := d.cfg.Validate(); err != nil {
		return nil, err
	}
	if d.seams != nil {
		return d.seams.start(ctx)
	}
	if err := remove(d.files.hold); err != nil {
		return nil, wrap("start", d.cfg.Name, err)
	}
	f, err := d.ensure(ctx, greeting{Role: roleControl}, true)
	if err != nil {
		return nil, wrap("start", d.cfg.Name, err)
	}
	defer f.link.Close()
	info := f.link.hello.info()
	if !f.started {
		return nil, alreadyRunning(info)
	}
	return info, nil
}

// Restart ends the daemon that runs, if any, by force if it must, and starts a
// new one. It ends a hold and a cooldown.
func (d *Daemon) Restart(ctx context.Context) (*Info, error) {
	return d.restart(ctx, d.Stop)
}

// RestartGently is Restart without force: a daemon that does not answer is an
// *UnresponsiveError and is left alone.
func (d *Daemon) RestartGently(ctx context.Context) (*Info, error) {
	return d.restart(ctx, d.Shutdown)
}

func (d *Daemon) restart(ctx context.Context, stop func(context.Context) error) (*Info, error) {
	if err := d.cfg.Validate(); err != nil {
		return nil, err
	}
	if err := stop(ctx); err != nil {
		return nil, err
	}
	if d.seams != nil {
		return d.seams.start(ctx)
	}
	if err := errors.Join(remove(d.files.hold), remove(d.files.cooldown)); err != nil {
		return nil, wrap("restart", d.cfg.Name, err)
	}
	f, err := d.ensure(ctx, greeting{Role: roleControl}, true)
	if err != nil {
		return nil, wrap("restart", d.cfg.Name, err)
	}
	defer f.link.Close()
	return f.link.hello.info(), nil
}

// Dial attaches to the daemon, which is started if need be: DialWith without
// options.
func (d *Daemon) Dial(ctx context.Context) (net.Conn, Hello, error) {
	return d.DialWith(ctx, DialOptions{})
}

// DialWith attaches to the daemon, which is started if need be. The connection
// is the lease: it ends when the connection is closed. What is written to it
// reaches the daemon's Config.Stream and the other way round; lines end in a
// newline. Errors are those of EnsureRunning; a daemon without a Stream is
// ErrVersion.
func (d *Daemon) DialWith(ctx context.Context, o DialOptions) (net.Conn, Hello, error) {
	if err := d.cfg.Validate(); err != nil {
		return nil, Hello{}, err
	}
	l, err := d.attach(ctx, o, true)
	if err != nil {
		return nil, Hello{}, wrap("attach to", d.cfg.Name, err)
	}
	if !l.hello.can(CapStream) {
		l.Close()
		return nil, Hello{}, wrap("attach to", d.cfg.Name, fmt.Errorf("%w: it serves no streams", ErrVersion))
	}
	return newClientConn(l), l.hello, nil
}

// attach takes a lease; start says that a daemon may be started for it.
func (d *Daemon) attach(ctx context.Context, o DialOptions, start bool) (*link, error) {
	g, err := o.greeting()
	if err != nil {
		return nil, err
	}
	if !start {
		return d.connect(ctx, g)
	}
	f, err := d.ensure(ctx, g, false)
	if err != nil {
		return nil, err
	}
	return f.link, nil
}

// Status looks at the daemon without changing anything. It takes at most the 2 s
// after which a daemon counts as unresponsive, and gives no error for one that
// does not run.
func (d *Daemon) Status() (*Info, error) { return d.Look(context.Background()) }

// Look is Status with a context.
func (d *Daemon) Look(ctx context.Context) (*Info, error) {
	if err := d.cfg.Validate(); err != nil {
		return nil, err
	}
	if d.seams != nil {
		return d.seams.status(), nil
	}
	now := time.Now()
	held := readHold(d.files.hold, now)
	l, err := d.connect(ctx, greeting{Role: roleControl})
	if err == nil {
		defer l.Close()
		info := l.hello.info()
		info.Held = held
		return info, nil
	}
	info := &Info{Name: d.cfg.Name, State: StateStopped, Log: d.files.log, Held: held}
	var hung *UnresponsiveError
	switch {
	case errors.As(err, &hung):
		info.Status, info.State, info.PID = StatusError, StateUnresponsive, hung.ID.PID
		return info, nil
	case !errors.Is(err, errNobody):
		return nil, wrap("look at", d.cfg.Name, err)
	}
	info.Cooldown = readCooldown(d.files.cooldown, now)
	switch {
	case held != nil:
		info.State = StateHeld
	case info.Cooldown != nil:
		info.State = StateCooling
	}
	return info, nil
}

// IsRunning reports whether a daemon answers and takes clients.
func (d *Daemon) IsRunning() bool {
	info, err := d.Status()
	return err == nil && info.Status == StatusRunning
}

func wrap(verb, name string, err error) error { return fmt.Errorf("%s %s: %w", verb, name, err) }

func alreadyRunning(i *Info) error { return &AlreadyRunningError{*i} }
