package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/desk"
	"github.com/belfry-dev/belfry/runner/registry"
)

// deadFor is how long after its start the record of a server that was killed
// still tells of it; then the next server removes it.
const deadFor = 24 * time.Hour

// listing is how a person finds a server: its record among the servers, and the
// endpoint at which it tells of its jobs.
type listing struct {
	a    *App
	desk desk.Store

	mu     sync.Mutex
	over   bool
	record *registry.Published
	server *control.Server
}

// begin lists the server, once, if it is not over yet. A server that cannot be
// listed serves all the same.
func (l *listing) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.record != nil {
		return
	}
	if err := l.publish(); err != nil {
		l.a.logf("belfry jobs will not show this server: %v", err)
	}
}

// atFirstJob lists the server once it has a job: one that never has costs no
// more than before. stop gives that up.
func (l *listing) atFirstJob(store *job.Store) (stop func()) {
	sub := store.Subscribe(1)
	go func() {
		if _, ok := <-sub.C; ok {
			l.begin()
		}
		sub.Close()
	}()
	return sub.Close
}

func (l *listing) publish() error {
	dir, err := registry.ServersDir(l.a.Env)
	if err != nil {
		return err
	}
	servers := registry.OpenServers(dir)
	if err := servers.Prepare(); err != nil {
		return err
	}
	now := time.Now()
	rec := registry.Record{
		RunID:     fmt.Sprintf("%s-%d-%d", l.desk.Role, os.Getpid(), now.UnixNano()),
		StartedAt: now, Labels: map[string]string{"role": l.desk.Role},
	}
	if l.desk.Scope != "" {
		rec.Labels["scope"] = l.desk.Scope
	}
	if l.server, err = l.desk.Serve(rec.RunID); err != nil {
		return err
	}
	rec.Endpoint = l.server.Endpoint()
	if l.record, err = servers.Publish(rec); err != nil {
		return errors.Join(err, l.server.Close())
	}
	// Best effort: belfry prune removes the others, and says what it cannot.
	_, _ = servers.Prune(registry.PruneOptions{Before: now.Add(-deadFor)})
	return nil
}

// end takes the server off the list. Its jobs have ended.
func (l *listing) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.record == nil {
		return
	}
	if err := errors.Join(l.server.Close(), l.record.Withdraw()); err != nil {
		l.a.logf("take this server off the list: %v", err)
	}
	l.record = nil
}
