package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// run is one run from its first check to its last line.
type run struct {
	o     Options
	id    string
	began time.Time
	dir   string
	jsonl string // absolute

	stream  *stream
	capture *capture
	// unbounded: nobody has named a ceiling for what is captured
	unbounded bool
	input     *os.File
	clocks    clocks
	signals   *signals
	host      sys.Host
	listing   listing

	started chan struct{} // closed once job is set, or never will be
	job     *job.Job      // nil: nothing was started
	once    sync.Once
	screen  screen
	detail  detail

	stopGrace atomic.Pointer[time.Duration] // of belfry stop, where it named one
}

// Run runs one command to its end and tells how it ended. It takes the signals
// over that end or concern a run, for as long as it lasts; the end of ctx is
// one more of them. What it cannot do is an Ending as well, never an error.
func Run(ctx context.Context, o Options) Ending {
	r := &run{o: o, id: o.RunID, began: time.Now(), started: make(chan struct{})}
	if r.id == "" {
		r.id = fmt.Sprintf("run-%d-%d", os.Getpid(), r.began.UnixNano())
	}
	if r.o.CaptureMax == 0 {
		r.o.CaptureMax, r.unbounded = DefaultCapture, true
	}
	if r.o.Schema == 0 {
		r.o.Schema = SchemaVersion
	}
	r.detail.stages.Began = now()
	if r.o.Labels == nil {
		r.o.Labels = map[string]string{}
	}
	r.clocks = clocks{overall: o.Timeout, idle: o.IdleTimeout, fire: r.late, begin: r.began}
	r.signals = catchSignals()
	defer r.signals.stop()
	end := r.whole(ctx)
	end.RunID = r.id
	return end
}

// warn tells what does not end the run.
func (r *run) warn(format string, args ...any) {
	if r.o.Warn != nil {
		r.o.Warn(fmt.Sprintf(format, args...))
	}
}

// whole is the start sequence, the run, and its last lines.
func (r *run) whole(ctx context.Context) Ending {
	var err error
	if r.dir, err = workDir(r.o.Dir); err != nil {
		return r.over(Ending{Source: SourceSetup, Message: err.Error()})
	}
	if r.o.JSONL != "" {
		r.jsonl, err = filepath.Abs(r.o.JSONL)
		if err == nil {
			var st *stream
			err = patiently(ctx, r.signals, func() (err error) {
				if err = namedFile("--jsonl", r.o.JSONL).distinct(append(r.o.others(), r.o.transcripts()...)); err == nil {
					st, err = openStream(r.o.JSONL, r.o.Schema, func(text string) { r.warn("%s", text) })
				}
				return err
			}, func() { st.close() })
			if err == nil {
				r.stream = st
			}
		}
		if err != nil {
			return r.notSetUp(err)
		}
		defer r.stream.close()
		r.jsonl = lasting(r.jsonl)
	}
	sp := sys.Spec{Argv: r.o.Argv, Dir: r.dir, Limits: r.o.Limits, Want: r.o.Contain, AllowWeaker: r.o.AllowWeaker}
	var files opened
	err = patiently(ctx, r.signals, func() (err error) {
		files, err = r.o.open(r.id, r.warn)
		return err
	}, func() { files.close() })
	if err != nil {
		return r.notSetUp(err)
	}
	r.capture, r.input, sp.Env = files.capture, files.input, files.env
	if r.host, err = sys.NewHost(sys.HostOptions{Records: r.o.Records, Hasty: r.stream == nil}); err != nil {
		r.discard()
		return r.noContainer("create", err)
	}
	defer r.host.Close() // over has closed it, but where it is not come to
	r.host.Prepare()
	r.announce()
	return r.run(ctx, &sp)
}

// discard closes what was opened for a child that there will not be.
func (r *run) discard() {
	if r.input != nil {
		r.input.Close()
	}
}

// run starts the command and sees it through.
func (r *run) run(ctx context.Context, sp *sys.Spec) Ending {
	var err error
	if sp.Path, err = program(sp.Argv, r.dir, r.o.Env.searchPath(sp.Env), r.o.Env.PathExt); err != nil {
		r.discard()
		return r.noSpawn(err)
	}
	outputs, theirs, err := r.stdio(sp)
	if err != nil {
		r.discard()
		return r.over(Ending{Source: SourceSetup, Message: err.Error()})
	}
	defer r.screen.leave(r)
	j, err := job.Start(ctx, job.Direct{
		Launcher: r.host, Spec: *sp, Outputs: outputs, Linger: linger, Keep: r.kept(),
		Started: r.begin, Decided: r.decided,
	})
	closeAll(theirs)
	if err != nil {
		return r.noStart(err)
	}
	go r.obey(ctx, j)
	<-j.Done()
	return r.finish(j)
}

// begin runs once the command does, before anything can end it.
func (r *run) begin(j *job.Job) {
	r.job = j
	r.signals.catchRest()
	s := j.Snapshot()
	if err := r.screen.enter(r, j); err != nil {
		r.screen.failed = err
		close(r.started)
		j.End(byForeground, 0, true)
		return
	}
	r.detail.stages.Started = now()
	r.stream.write(r.startedEvent(RunStarted{
		RunID: r.id, Labels: r.o.Labels, RootPID: &s.Identity.PID,
		Mechanism: mechanismOf(s.Guarantee.Mechanism), AbruptCleanup: abruptOf(s.Guarantee.SupervisorDeath),
		Cwd: &r.dir, Command: commandOf(r.o.Argv, r.o.ArgvRaw),
	}, s.Guarantee))
	if r.stream != nil {
		members, how := j.Members()
		r.stream.write(snapshotOf("spawn", members, how))
	}
	r.clocks.start()
	close(r.started)
	if r.o.Started != nil {
		r.o.Started(r.id) // who hears of it may ask for it at once
	}
	if r.o.SnapshotInterval > 0 && r.stream != nil {
		go r.repeat(j)
	}
}

// repeat lists the members at intervals while the run lasts.
func (r *run) repeat(j *job.Job) {
	tick := time.NewTicker(r.o.SnapshotInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			members, how := j.Members()
			r.stream.aside(snapshotOf("interval", members, how))
		case <-j.Done():
			return
		}
	}
}

// noStart sorts the error of a start.
func (r *run) noStart(err error) Ending {
	var se *sys.StartError
	if !errors.As(err, &se) {
		return r.noSpawn(err)
	}
	switch se.Code {
	case sys.CodeLimitUnavailable:
		for _, l := range se.Limits {
			if !l.Enforced {
				detail := strings.TrimSpace(string(l.Reason) + ": " + l.Detail)
				r.stream.write(LimitHit{Limit: limitWord(l.Limit), Detail: &detail})
			}
		}
		return r.noContainer("create", err)
	case sys.CodeContainmentUnavailable:
		return r.noContainer("create", err)
	case sys.CodeResourcesExhausted, sys.CodeStartTimeout:
		return r.noContainer("attach", err)
	}
	return r.noSpawn(err)
}

func limitWord(l sys.LimitName) string {
	switch l {
	case sys.LimitMemory:
		return "memory"
	case sys.LimitTasks:
		return "processes"
	case sys.LimitCPUs:
		return "cpu"
	}
	return "unknown"
}

func (r *run) noSpawn(err error) Ending {
	message := "start " + r.o.Argv[0] + ": " + err.Error()
	r.stream.end(SpawnFailed{Code: ExitSpawn, Message: message})
	return r.over(Ending{Source: SourceSpawnError, Message: message})
}

func (r *run) noContainer(phase string, err error) Ending {
	message := "contain " + r.o.Argv[0] + ": " + err.Error()
	r.stream.end(ContainerFailed{Phase: phase, Code: ExitBackend, Message: message})
	return r.over(Ending{Source: SourceContainerError, Message: message})
}

// over writes the last line and takes the run off the list.
func (r *run) over(e Ending) Ending {
	if e.Source != SourceChild {
		e.Code = e.Source.Code()
	}
	r.once.Do(func() {
		if r.job == nil {
			close(r.started)
		}
	})
	r.stream.write(r.exitEvent(RunnerExit{Code: e.Code, Source: e.Source, ChildCode: e.ChildCode}))
	r.stream.close()
	r.listing.hangUp(r)
	closed := r.closeHost()
	r.listing.remove(r, e)
	<-closed
	return e
}

// closeHost frees the containers beside what else there is to clear away: each
// takes about as long as the other. Nobody asks for the members any more.
func (r *run) closeHost() <-chan struct{} {
	closed := make(chan struct{})
	if r.host == nil {
		close(closed)
		return closed
	}
	go func() {
		defer close(closed)
		_ = r.host.Close() // Best effort: the tree is over; an empty directory stays at worst.
	}()
	return closed
}
