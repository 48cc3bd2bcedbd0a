package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// Serve is the daemon: it serves until it is told to stop (a client's Stop,
// SIGINT, SIGTERM, the end of ctx) or has been idle for Config.IdleTimeout, lets
// what is in work finish, and returns nil. handler, which may be nil, serves
// what lies beside HealthPath and /daemon/.
//
// One that finds another daemon returns ErrAlreadyRunning with its process. One
// that finds another on its way out waits for it, as long as ctx allows and at
// most Config.Timeout.
func Serve(ctx context.Context, cfg Config, handler http.Handler) error {
	ready := takeReadiness()
	s, err := open(ctx, cfg, handler, ready.given())
	if err != nil {
		ready.fail(err)
		return wrap("serve", cfg.Name, err)
	}
	if err := ready.ok(s.hello.Generation); err != nil {
		s.log.Info("nobody waits for this daemon any more", "error", err)
	}
	return s.run(ctx)
}

// server is a daemon that serves.
type server struct {
	cfg   Config
	files files
	hello helloLine // what does not change of it
	token string
	gate  *gate
	drain *drain
	door  threshold
	app   http.Handler
	log   *slog.Logger

	unlock func() error
	logf   *logFile    // nil in the foreground
	stop   chan string // why; only the first counts

	controls controls
}

// open takes the lock and opens the door, in this order: whoever holds the lock
// may remove what a dead predecessor left at the door.
func open(ctx context.Context, cfg Config, handler http.Handler, spawned bool) (*server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	d := New(cfg)
	cfg = d.cfg
	if err := d.files.make(cfg.Transport == Socket); err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, files: d.files, app: handler, stop: make(chan string, 1)}
	if err := s.openLog(spawned); err != nil {
		return nil, err
	}
	var err error
	if s.unlock, err = d.succeed(ctx); err != nil {
		return nil, errors.Join(err, s.closeLog())
	}
	if err := s.openDoor(d.door); err != nil {
		return nil, errors.Join(err, s.unlock(), s.closeLog())
	}
	return s, nil
}

// succeed takes the daemon's lock. While somebody has it, that is a daemon that
// runs, one that leaves, or one that is about to open its door.
func (d *Daemon) succeed(ctx context.Context) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.Timeout, ErrStartTimeout)
	defer cancel()
	for {
		unlock, err = sys.TryLock(d.files.lock)
		if err != nil || unlock != nil {
			return unlock, err
		}
		l, err := d.connect(ctx, greeting{Role: roleControl})
		switch {
		case err == nil && l.hello.State == StateDraining:
			// Best effort: the lock is what counts, and it is tried next.
			_ = l.gone(ctx)
			l.Close()
		case err == nil:
			l.Close()
			return nil, alreadyRunning(l.hello.info())
		case !errors.Is(err, errNobody) && !errors.Is(err, ErrDraining):
			return nil, err
		}
		if err := pause(ctx); err != nil {
			return nil, fmt.Errorf("another daemon has the lock %s and does not answer: %w", d.files.lock, err)
		}
	}
}

func (s *server) openDoor(d door) error {
	now := time.Now()
	generation := rand.Text()
	t, err := d.listen(generation)
	if err != nil {
		return err
	}
	id, err := sys.Identify(os.Getpid())
	if err != nil {
		id = sys.ID{PID: os.Getpid()}
	}
	caps := append([]string{}, s.cfg.Capabilities...)
	if s.cfg.Stream != nil {
		caps = append(caps, CapStream)
	}
	s.door, s.token = t, t.token
	s.door.intact = both(t.intact, unmoved(s.files.lock))
	s.hello = helloLine{Identity: identityOf(id), Hello: Hello{
		Protocol: s.cfg.protocol, Version: s.cfg.Version, Generation: generation, PID: os.Getpid(),
		Capabilities: caps, StartTime: now.UTC(), IdleTimeout: s.cfg.IdleTimeout, Port: t.port, Endpoint: t.endpoint,
	}}
	err = writeJSON(s.files.info, record{
		PID: os.Getpid(), Port: t.port, Name: s.cfg.Name, Binary: s.cfg.Binary, StartTime: s.hello.StartTime, Token: t.token,
		Generation: generation, Version: s.cfg.Version, Endpoint: t.endpoint, Identity: s.hello.Identity,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("write the PID file: %w", err), t.Close())
	}
	s.gate = newGate(s.cfg.IdleTimeout, now)
	s.drain = newDrain(s.cfg.ShutdownTimeout)
	if s.cfg.Keep != nil {
		s.cfg.Keep.serve(s.gate)
	}
	return nil
}

// unmoved tells from now on whether a path names the file that it names now.
func unmoved(path string) func() bool {
	then, err := os.Lstat(path)
	return func() bool {
		now, nerr := os.Lstat(path)
		return err != nil || nerr == nil && os.SameFile(then, now)
	}
}

func both(a, b func() bool) func() bool { return func() bool { return a() && b() } }

// openLog makes the log. A daemon that was started by a client has its output
// in the log file, which is put aside when it is full; in the foreground only
// Config.Log is told.
func (s *server) openLog(spawned bool) error {
	if s.log = s.cfg.Log; s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if !spawned {
		return nil
	}
	f, err := newLogFile(s.files.log, maxLog, func(f *os.File) {
		// Best effort: output then stays in the log that was put aside.
		_ = sys.RedirectOutput(f)
	})
	if err != nil {
		return err
	}
	s.logf = f
	if s.cfg.Log == nil {
		s.log = slog.New(slog.NewTextHandler(f, nil))
	}
	return nil
}

func (s *server) closeLog() error {
	if s.logf == nil {
		return nil
	}
	return s.logf.Close()
}
