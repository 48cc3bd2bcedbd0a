package detach

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// startLimit bounds the wait for a supervisor.
const startLimit = 30 * time.Second

// tidyEvery is how often a server that starts detached jobs looks for transcripts
// that are too old or too much.
const tidyEvery = 10 * time.Minute

// logTail is how much of a failed supervisor's log is told, in bytes.
const logTail = 1 << 10

// said is the line on the readiness pipe.
type said struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	Taken bool   `json:"taken,omitempty"` // another supervisor has, or had, the job
}

// The remedies.
const (
	remedyState = "make the directory writable and room in it, or name another by BELFRY_STATE_DIR"
	remedySafe  = "make it yours alone, or name another by BELFRY_STATE_DIR"
	remedyTree  = "start the server outside of the tree, or pass allow_weaker"
	remedyAgain = "try again, or run the job without detach"
)

var errTaken = errors.New("another supervisor has the job")

var errInside = errors.New("the server is a member of a contained tree, with which the job would end")

// Detach starts a supervisor for a job.
func (p *Place) Detach(ctx context.Context, o job.Order) (job.Owned, error) {
	dir, err := p.folderOf(&o)
	if err != nil {
		return nil, err
	}
	// One that is there already was started by a server that died then.
	if err := p.launch(ctx, dir); err != nil && !errors.Is(err, errTaken) {
		os.RemoveAll(dir) // Best effort: prune removes it.
		return nil, &job.DetachError{Err: err, Remedy: remedyAgain}
	}
	// Best effort: it says nothing where there is a supervisor.
	_ = os.Remove(filepath.Join(dir, waitingName))
	return &owned{id: o.ID, dir: dir}, nil
}

// accept makes the folder of a job that may be detached.
func (p *Place) accept(o *job.Order) (string, error) {
	if !o.AllowWeaker && sys.InsideTree() {
		return "", &job.DetachError{Err: errInside, Remedy: remedyTree}
	}
	dir, err := p.folder(o)
	if err != nil {
		remedy := remedyState
		if errors.Is(err, sys.ErrUnsafeDir) {
			remedy = remedySafe
		}
		return "", &job.DetachError{Err: err, Remedy: remedy}
	}
	return dir, nil
}

// folder makes the folder of a job, which is this server's from the beginning.
func (p *Place) folder(o *job.Order) (string, error) {
	order, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.enterLocked(); err != nil {
		return "", err
	}
	if now := time.Now(); now.Sub(p.tidied) > tidyEvery {
		p.tidied = now
		// Best effort: belfry prune tells what cannot be removed.
		_, _ = Prune(p.state)
	}
	dir := filepath.Join(p.dir, o.ID)
	p.mine[o.ID] = true
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	for name, data := range map[string][]byte{ownerName: []byte(p.owner), orderName: order} {
		if err := writeWhole(filepath.Join(dir, name), data); err != nil {
			os.RemoveAll(dir)
			return "", err
		}
	}
	return dir, nil
}

// launch starts the supervisor and waits until it has the job. The process that
// it starts is gone then: the supervisor is no child of this one.
func (p *Place) launch(ctx context.Context, dir string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		w.Close()
		return err
	}
	defer log.Close()
	args := append(append([]string{p.start.Path}, p.start.Args...), dir)
	_, err = sys.StartDetached(sys.Detached{Path: p.start.Path, Argv: args, Env: p.start.Env, Dir: p.start.Dir,
		Output: log, Ready: w, ReadyVar: ReadyVar})
	w.Close()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		if giveUp(dir) {
			_ = r.SetReadDeadline(time.Unix(1, 0))
		}
	})
	defer stop()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	var s said
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("its supervisor did not start within %v", startLimit)
	case err != nil:
		return fmt.Errorf("its supervisor ended before it had the job%s", tailOf(filepath.Join(dir, logName)))
	case s.Taken:
		return errTaken
	case !s.OK:
		return errors.New(s.Error)
	}
	return nil
}

// giveUp decides that a supervisor must not start its job any more; false when
// it was faster.
func giveUp(dir string) bool { return decide(dir) == nil }

// decide is done once for each job: by its supervisor before it starts it, or
// by the server that does not wait any longer.
func decide(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, verdictName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// tailOf tells the end of a log, in brackets.
func tailOf(path string) string {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	b = b[max(0, len(b)-logTail):]
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "\ufffd")), " ")
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
