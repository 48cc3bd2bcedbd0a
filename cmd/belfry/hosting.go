package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/belfry-dev/belfry/daemon"
	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/desk"
	"github.com/belfry-dev/belfry/runner/detach"
	"github.com/belfry-dev/belfry/server"
	"github.com/belfry-dev/belfry/sys"
)

// hosting is the shared daemon: one store of jobs and one server of it, to any
// number of clients. The jobs are the daemon's, not a connection's.
type hosting struct {
	a     *App
	host  sys.Host
	place *detach.Place
	store *job.Store
	srv   *server.Server
	list  *listing

	keep    daemon.Keep
	mu      sync.Mutex
	release func() // not nil while a job runs or waits
	adopt   sync.Once
}

func (a *App) newHosting(scope string) (*hosting, error) {
	place, err := a.detacher(scopeName(scope))
	if err != nil {
		return nil, err
	}
	host, err := a.newHost()
	if err != nil {
		return nil, err
	}
	// Each job has its client's policy; without one there is none.
	config := a.jobConfig(job.PolicyFile{})
	config.Launcher, config.Detacher = host, place
	store, err := job.NewStore(config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store: %w", err), host.Close())
	}
	h := &hosting{a: a, host: host, place: place, store: store}
	h.list = &listing{a: a, desk: desk.Store{Jobs: store, Role: "daemon", Scope: scope, Release: versionOf().Version}}
	h.srv, err = server.New(store, server.Options{Version: versionOf().Version, Log: a.logf, OnFirstReply: host.Prepare})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open server: %w", err), host.Close())
	}
	return h, nil
}

// serve is the life of the daemon.
func (h *hosting) serve(ctx context.Context, c daemon.Config) error {
	// A client that has closed its end is an error of a write.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	sub := h.store.Subscribe(64)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for range sub.C {
			h.settle()
		}
	}()
	c.Keep, c.Stream, c.Report = &h.keep, h.stream, func() any { return h.report() }
	c.Close = h.store.Close
	go h.list.begin()
	err := daemon.Serve(ctx, c, nil)
	h.store.Close(ctx) // also where there was never anything to serve
	h.list.end()
	sub.Close()
	<-watched
	return errors.Join(err, h.place.Close(), h.host.Close())
}

// stream serves one client.
func (h *hosting) stream(ctx context.Context, conn net.Conn) {
	// What the last daemon has left takes slots from the first client on.
	h.adopt.Do(func() { go h.store.Adopt() })
	// A client's jobs are counted before its lease ends.
	defer h.settle()
	client := daemon.ClientOf(ctx)
	var s surroundings
	if err := json.Unmarshal(client.Meta, &s); err != nil && len(client.Meta) > 0 {
		h.a.logf("client %s sent surroundings that cannot be read: %v", client.ID, err)
	}
	name := s.Client
	if name == "" {
		name = client.ID
	}
	draining, left := daemon.DrainOf(ctx)
	err := h.srv.ServeClient(ctx, conn, conn, server.Client{
		Origin: s.origin(name), Hosts: s.hosts(), Detach: s.Detach,
		Drain: func() time.Duration {
			select {
			case <-draining:
				return max(left(), time.Millisecond)
			default:
				return 0 // the client has left; the default is for that
			}
		},
	})
	if err != nil && ctx.Err() == nil {
		h.a.logf("client %s: %v", client.ID, err)
	}
}

// settle holds the daemon while there is a job, and no longer.
func (h *hosting) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	busy := h.store.Busy()
	switch {
	case busy && h.release == nil:
		h.release = h.keep.Take()
	case !busy && h.release != nil:
		h.release()
		h.release = nil
	}
}

// jobCounts is what Status tells of the jobs.
type jobCounts struct {
	Running  int `json:"running"`
	Queued   int `json:"queued"`
	Finished int `json:"finished"`
}

type report struct {
	Jobs jobCounts `json:"jobs"`
}

func (h *hosting) report() report {
	var r report
	all, _ := h.store.List(job.Filter{})
	for i := range all {
		switch s := &all[i]; {
		case s.Terminal():
			r.Jobs.Finished++
		case s.QueuePosition > 0:
			r.Jobs.Queued++
		default:
			r.Jobs.Running++
		}
	}
	return r
}
