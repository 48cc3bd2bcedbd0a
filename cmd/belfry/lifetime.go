package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// lifetime turns the signals that end a server into two contexts. The first
// signal ends serve, which begins an orderly end; once that has begun, however
// it came about, one more signal ends both, which hastens it.
type lifetime struct {
	serve    context.Context
	patience context.Context

	stopServe, stopPatience context.CancelCauseFunc
	signals                 chan os.Signal
	done                    chan struct{}
	ending                  atomic.Bool // the orderly end has begun
}

var errSignalled = errors.New("ended by a signal")

// newLifetime takes over SIGTERM, SIGINT and SIGHUP. SIGPIPE is taken as well:
// a client that has closed our stdout is an error of a write and not the death
// of the server, which has jobs to end.
func newLifetime(ctx context.Context) *lifetime {
	l := idleLifetime(ctx)
	signal.Notify(l.signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go l.watch()
	return l
}

func idleLifetime(ctx context.Context) *lifetime {
	l := &lifetime{
		signals: make(chan os.Signal, 4),
		done:    make(chan struct{}),
	}
	l.serve, l.stopServe = context.WithCancelCause(ctx)
	l.patience, l.stopPatience = context.WithCancelCause(context.WithoutCancel(ctx))
	return l
}

func (l *lifetime) watch() {
	for {
		select {
		case <-l.signals:
			l.stopServe(errSignalled)
			if l.ending.Swap(true) {
				l.stopPatience(errSignalled)
				return
			}
		case <-l.done:
			return
		}
	}
}

// end says that the orderly end has begun, by the end of the input or by a
// signal: the next signal hastens it. serve goes on: what it still has to say
// may depend on the end of the jobs.
func (l *lifetime) end() { l.ending.Store(true) }

// stop gives the signals back.
func (l *lifetime) stop() {
	signal.Stop(l.signals)
	close(l.done)
	l.stopServe(context.Canceled)
	l.stopPatience(context.Canceled)
}
