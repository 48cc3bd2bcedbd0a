package detach

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
	"github.com/belfry-dev/belfry/sys/systest"
)

// watched is a side that tells when all that was there has been told.
type watched struct {
	*side
	told func()
}

func (w watched) CaughtUp() { w.told() }

// A job whose supervisor is stopped is shown before anything is asked of it.
func TestStoppedSupervisor(t *testing.T) {
	systest.SkipUnderWine(t, "a pipe's first instance, which go-winio never serves, takes a client that comes early")
	dir := t.TempDir()
	x := newWriter(t, dir, 1<<20)
	x.say(job.Stdout, "one\n")
	x.w.Record(job.Snapshot{ID: "x", State: job.Running})
	lock, err := sys.CreateLock(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	e, err := sys.ListenTemp()
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Bool
	served := make(chan struct{})
	go func() {
		defer close(served)
		if c, _, err := e.Accept(); err == nil {
			asked.Store(true)
			defer c.Close()
			c.Read(make([]byte, 1<<10)) // what is asked, and no answer until the asker leaves
			c.Read(make([]byte, 1))
		}
	}()
	defer func() {
		e.Close()
		<-served
	}()
	told, err := json.Marshal(supervisor{Endpoint: e.Name()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, supervisorName), told, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := watched{newSide(), nil}
	s.told = func() {
		if asked.Load() {
			t.Error("it was asked first")
		}
		same(t, s.side, x.side)
		cancel()
	}
	if err := (&owned{id: "x", dir: dir}).Follow(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
