package detach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/control"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/sys"
)

// Options are what a supervisor has of its process.
type Options struct {
	Registry *registry.Registry // lists the job as a run of the job's id
	Records  string             // where the host notes what it would leave behind when killed
	Version  string
	// Starter starts the supervisor once more: see Supervise.
	Starter Starter
}

var errGivenUp = errors.New("the server that wanted the job does not wait for it any longer")

// Restart starts the supervisor of a folder as no child of the server that wants
// it, and returns at once. ready is handed on.
func Restart(dir string, ready *os.File, o Options) error {
	args := append(append([]string{o.Starter.Path}, o.Starter.Args...), dir)
	_, err := sys.StartDetached(sys.Detached{Path: o.Starter.Path, Argv: args, Env: o.Starter.Env, Dir: o.Starter.Dir,
		Output: os.Stderr, Ready: ready, ReadyVar: ReadyVar})
	if err != nil {
		tell(ready, said{Error: err.Error()})
	}
	return err
}

// Supervise is the life of a supervisor: it starts the job of a folder, tells on
// ready that it has it, and returns when nothing of the job is left. The end of
// ctx ends the job with the grace of a shutdown, that of patience at once.
func Supervise(ctx, patience context.Context, dir string, ready *os.File, o Options) error {
	s, err := take(dir, o)
	if err != nil {
		tell(ready, said{Error: err.Error(), Taken: errors.Is(err, errTaken)})
		return err
	}
	if err = s.start(); err != nil {
		tell(ready, said{Error: err.Error()})
		return errors.Join(err, s.leave(registry.Outcome{Code: runner.ExitInternal, Source: string(runner.SourceInternal)}))
	}
	tell(ready, said{OK: true})
	select {
	case <-s.job.Told():
	case <-ctx.Done():
	}
	s.store.Close(patience) // of one that has ended its timers
	<-s.job.Told()
	err = s.journal.end()
	return errors.Join(err, s.leave(outcomeOf(s.job.Snapshot())))
}

func tell(ready *os.File, s said) {
	line, err := json.Marshal(s)
	if err == nil {
		_, err = ready.Write(append(line, '\n'))
	}
	// Best effort: a server that is gone is followed by one that adopts the job.
	_ = errors.Join(err, ready.Close())
}

// supervised is one job under this process.
type supervised struct {
	dir   string
	o     Options
	order job.Order
	began time.Time
	lock  *sys.FileLock
	host  sys.Host

	server  *control.Server
	record  *registry.Published
	journal *journal
	ready   chan struct{} // closed once job is set
	store   *job.Store
	job     *job.Job // nil: it could not be begun
}

// lockFor makes the lock of the supervisor in a folder. Somebody who looks whether
// it is held, just then, makes another file necessary.
func lockFor(dir string) (*sys.FileLock, error) {
	path := filepath.Join(dir, lockName)
	for {
		l, err := sys.CreateLock(path)
		if !errors.Is(err, sys.ErrLockReplaced) {
			return l, err
		}
		if err := sys.RemoveNow(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// take makes all that the job needs, so that nothing but its own start can fail
// later.
func take(dir string, o Options) (s *supervised, err error) {
	s = &supervised{dir: dir, o: o, began: time.Now(), ready: make(chan struct{})}
	if s.lock, err = lockFor(dir); errors.Is(err, fs.ErrExist) {
		return nil, errTaken
	} else if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, orderName)
	order, err := readOrder(dir)
	if err == nil {
		s.order = *order
	}
	// It holds the job's environment: nobody needs it any more.
	if err = errors.Join(err, os.Remove(path)); err != nil {
		return nil, fmt.Errorf("read the order: %w", err)
	}
	if s.host, err = sys.NewHost(sys.HostOptions{Records: o.Records}); err != nil {
		return nil, fmt.Errorf("open host: %w", err)
	}
	s.host.Prepare()
	if s.server, err = control.Listen(s.order.ID, s, shown{s}); err != nil {
		return nil, fmt.Errorf("%w; a job that cannot be reached must not be detached", err)
	}
	told, err := json.Marshal(supervisor{s.server.Endpoint(), o.Version})
	if err == nil {
		err = writeWhole(filepath.Join(dir, supervisorName), told)
	}
	if err == nil {
		err = s.list()
	}
	if err == nil {
		if err = decide(dir); err != nil {
			err = errGivenUp
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.leave(registry.Outcome{Code: runner.ExitSetup, Source: string(runner.SourceSetup)}))
	}
	return s, nil
}

// list makes the job a run that belfry list and its sisters know.
func (s *supervised) list() error {
	if err := s.o.Registry.Prepare(); err != nil {
		return fmt.Errorf("%w (BELFRY_REGISTRY_DIR names another)", err)
	}
	var err error
	s.record, err = s.o.Registry.Publish(registry.Record{
		RunID: s.order.ID, Endpoint: s.server.Endpoint(), StartedAt: s.began,
		ArgvSHA256: runner.Fingerprint(s.order.Argv), Labels: map[string]string{"job": "detached"},
	})
	return err
}

// leave gives everything back. The folder is let go of before the run is off the
// list, so that there is no moment in which nobody shows the job.
func (s *supervised) leave(out registry.Outcome) error {
	err := errors.Join(s.server.Close(), s.lock.Close())
	if s.record != nil {
		err = errors.Join(err, s.record.Remove(out))
	}
	return errors.Join(err, s.host.Close())
}

// start starts the job and returns when it is decided whether it runs. Its record
// can be read then.
func (s *supervised) start() (err error) {
	defer close(s.ready)
	s.store, s.job, err = job.Supervise(job.Config{Launcher: s.host, Dir: s.order.Dir}, s.order, func(j *job.Job) (job.Recorder, error) {
		var err error
		s.journal, err = newJournal(s.dir, j.SaveNewest, s.server.Changed)
		return s.journal, err
	})
	return err
}

// outcomeOf tells an end in the words of runs.
func outcomeOf(s job.Snapshot) registry.Outcome {
	source := runner.SourceInternal
	switch s.EndedBy {
	case job.ByExit:
		return registry.Outcome{Code: *s.ExitCode, Source: string(runner.SourceChild), ChildCode: s.ExitCode}
	case job.BySignal, job.ByMemory:
		code := 128
		if sig, err := sys.ParseSignal(s.Signal); err == nil {
			code += int(sig)
		}
		return registry.Outcome{Code: code, Source: string(runner.SourceChild), ChildCode: &code}
	case job.ByKill:
		source = runner.SourceControlKill
	case job.ByDeadline:
		source = runner.SourceTimeout
	case job.ByShutdown:
		source = runner.SourceCancelled
	case job.BySpawnFailed, job.ByPolicyDenied:
		source = runner.SourceSpawnError
	}
	return registry.Outcome{Code: source.Code(), Source: string(source)}
}

// Snapshot, Contains, Cancel, Kill and Signal are the job as its control endpoint
// sees it.
func (s *supervised) Snapshot() control.Snapshot {
	<-s.ready
	return runner.Inspect(s.job, s.began)
}

// Contains asks the kernel who is in the tree.
func (s *supervised) Contains(pid int) (bool, error) {
	<-s.ready
	return s.job != nil && runner.Contains(s.job, pid), nil
}

// Cancel is the graceful end.
func (s *supervised) Cancel() { s.end(job.Kill{NoWait: true}) }

// Kill is the hard end.
func (s *supervised) Kill() { s.end(job.Kill{Signal: "SIGKILL", NoWait: true}) }

func (s *supervised) end(k job.Kill) {
	go func() {
		if <-s.ready; s.job != nil {
			// Best effort: a job that cannot be ended says so in its record.
			_ = s.job.Kill(context.Background(), k)
		}
	}()
}

// Signal is a kill as the tool kill asks for it.
func (s *supervised) Signal(ctx context.Context, name string, grace *time.Duration) error {
	if <-s.ready; s.job == nil {
		return errors.New("nothing was started")
	}
	return s.job.Kill(ctx, job.Kill{Signal: name, Grace: grace, NoWait: true})
}
