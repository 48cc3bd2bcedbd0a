package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	headerLimit = 10 * time.Second // for a client to send its request's head
	// flushReplies bounds the way of the last replies to clients that may not read.
	flushReplies = 500 * time.Millisecond
	checkEvery   = time.Minute // between two looks at our own files
	touchEvery   = time.Hour   // cleaners of temporary files spare what is fresh
)

// run serves until the end, and gives back the lock last of all.
func (s *server) run(ctx context.Context) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	web := &http.Server{
		Handler: s.routes(), ReadHeaderTimeout: headerLimit,
		BaseContext: func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(s.door) }()
	s.log.Info("serving", "endpoint", s.door.endpoint, "process", os.Getpid(), "generation", s.hello.Generation, "version", s.cfg.Version)

	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	why, err := s.await(ctx, served, signals)
	s.log.Info("leaving", "why", why)
	// One more signal says that there is no time.
	hurry, rush := context.WithCancel(context.WithoutCancel(ctx))
	defer rush()
	go func() {
		select {
		case <-signals:
			rush()
		case <-hurry.Done():
		}
	}()
	s.leave(web, cancel, hurry)
	if s.cfg.Close != nil {
		s.cfg.Close(hurry)
	}
	// The lock, and those who wait for our end, last of all.
	err = errors.Join(err, s.unlock(), s.closeLog())
	s.controls.end()
	return err
}

// await gives the reason to leave.
func (s *server) await(ctx context.Context, served <-chan error, signals <-chan os.Signal) (why string, err error) {
	idle := make(chan struct{})
	quit := make(chan struct{})
	defer close(quit)
	go func() {
		if s.gate.waitIdle(quit) {
			close(idle)
		}
	}()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	touched := time.Now()
	for {
		select {
		case why := <-s.stop:
			return why, nil
		case <-idle:
			return "idle", nil
		case <-ctx.Done():
			return "the context ended", nil
		case sig := <-signals:
			return "signal " + sig.String(), nil
		case err := <-served:
			return "the listener failed", err
		case now := <-check.C:
			if !s.door.intact() {
				return "the endpoint names something else now", nil
			}
			if now.Sub(touched) >= touchEvery {
				touched = now
				s.touch(now)
			}
			if s.logf != nil {
				// Best effort: a log that cannot be put aside goes on growing.
				_ = s.logf.check()
			}
		}
	}
}

// leave drains: nothing new, what is in work may finish, then it is cancelled,
// and after a fifth of that time more it is left.
func (s *server) leave(web *http.Server, cancel context.CancelFunc, hurry context.Context) {
	s.drain.begin()
	empty := s.gate.drain()
	budget := time.NewTimer(s.cfg.ShutdownTimeout)
	defer budget.Stop()
	cut := true
	select {
	case <-empty:
		cut = false
	case <-budget.C:
	case <-hurry.Done():
	}
	cancel()
	if cut {
		rest := time.NewTimer(s.cfg.ShutdownTimeout / 5)
		defer rest.Stop()
		select {
		case <-empty:
		case <-rest.C:
			s.log.Warn("requests are left unanswered")
		}
	}
	// The door closes before the connections: who comes now finds nobody and
	// starts a successor, which waits for the lock.
	if err := s.door.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.Warn("close the endpoint", "error", err)
	}
	// Replies whose handlers have returned are still on their way out.
	flush, stop := context.WithTimeout(hurry, flushReplies)
	defer stop()
	if web.Shutdown(flush) == nil {
		return
	}
	if err := web.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.Warn("close the connections", "error", err)
	}
}

// touch keeps our files out of the reach of cleaners.
func (s *server) touch(now time.Time) {
	for _, f := range []string{s.files.socket, s.files.lock, s.files.startLock, s.files.info} {
		if f != "" {
			// Best effort: a file that is missing is no worse for it.
			_ = os.Chtimes(f, now, now)
		}
	}
}

// tell asks the daemon to leave; only the first word counts.
func (s *server) tell(why string) {
	select {
	case s.stop <- why:
	default:
	}
}
