package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// ReadyVar is the environment variable that names, to the detached copy of the
// launcher, the pipe on which it tells that its command runs. It never reaches
// the command.
const ReadyVar = "BELFRY_RUN_READY"

// proofLimit bounds the wait for a detached run's start.
const proofLimit = 30 * time.Second

// proof is the one line that a detached run tells its launcher.
type proof struct {
	Started  bool     `json:"started"`
	RunID    string   `json:"run_id"`
	Ending   Ending   `json:"ending"` // when it did not start
	Warnings []string `json:"warnings"`
}

// Launch starts this program again, with the same arguments, as the detached
// runner, and returns once its command runs: Ending is the zero value then, but
// for the run id. Otherwise it is how the run failed. warn is told what did not
// keep it from starting.
//
// Inside a tree of ours it is refused, unless weaker: the run would end with it.
// So it is to the first process of a container, with whose end all ends.
func Launch(ctx context.Context, argv, env []string, weaker bool, warn func(text string)) Ending {
	setup := func(format string, args ...any) Ending {
		return Ending{Code: ExitSetup, Source: SourceSetup, Message: "detach: " + fmt.Sprintf(format, args...)}
	}
	if !weaker && sys.InsideTree() {
		return setup("this process is a member of a contained tree, with which the run would end (--allow-weaker detaches it all the same)")
	}
	if !weaker && os.Getpid() == 1 {
		return setup("this process is process 1 of its container, with which the run would end (without --detach it stays as long as the run; --allow-weaker detaches it all the same)")
	}
	self, err := os.Executable()
	if err != nil {
		return setup("find this program: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return setup("make a pipe: %v", err)
	}
	defer r.Close()
	copied, err := sys.StartDetached(sys.Detached{Path: self, Argv: argv, Env: env, Ready: w, ReadyVar: ReadyVar})
	w.Close()
	if err != nil {
		return setup("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, proofLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	var p proof
	if err == nil {
		err = json.Unmarshal(line, &p)
	}
	for _, text := range p.Warnings {
		warn(text)
	}
	switch {
	case err == nil && p.Started:
		return Ending{RunID: p.RunID}
	case err == nil:
		return p.Ending
	case ctx.Err() != nil:
		// Best effort: what it has started ends with it.
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = copied.Kill(bound)
		return setup("the run did not start within %v", proofLimit)
	}
	<-copied.Exited()
	exit := copied.Exit()
	return setup("the runner ended with status %d, signal %d, before the command ran", exit.Code, int(exit.Signal))
}

// RunDetached is the copy's side: it tells the launcher over ready how the start
// went, and runs. A launcher that is not there any more ends the run.
func RunDetached(ctx context.Context, o Options, ready *os.File) Ending {
	var mu sync.Mutex
	var warnings []string // of the start: nobody hears of later ones
	o.Warn = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		warnings = append(warnings, text)
	}
	tell := func(p proof) error {
		mu.Lock()
		p.Warnings = warnings
		mu.Unlock()
		line, err := json.Marshal(p)
		if err == nil {
			_, err = ready.Write(append(line, '\n'))
		}
		return errors.Join(err, ready.Close())
	}
	told := false
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	o.NoEcho = true
	o.Env.Base = slices.DeleteFunc(slices.Clone(o.Env.Base), func(kv string) bool {
		return strings.HasPrefix(kv, ReadyVar+"=")
	})
	o.Started = func(id string) {
		told = true
		if tell(proof{Started: true, RunID: id}) != nil {
			giveUp() // the launcher was ended: whoever did that wants no run
		}
	}
	end := Run(ctx, o)
	if !told {
		_ = tell(proof{RunID: end.RunID, Ending: end}) // Best effort: nobody may be there.
	}
	return end
}
