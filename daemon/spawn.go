package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// The environment variables of the hand-off. Serve takes them out of its own
// environment, so that nothing that it runs takes itself for the daemon.
const (
	modeVar  = "DAEMON_MODE"
	dirVar   = "DAEMON_DATA_DIR"
	readyVar = "DAEMON_READY_FD"
)

const (
	killLimit = 2 * time.Second // for a failed child and its descendants to be gone
	lastLook  = 200 * time.Millisecond
	tailBytes = 8 << 10
	tailLines = 20
)

// readiness is the line that a started daemon writes to its pipe, once.
type readiness struct {
	OK         bool   `json:"ok"`
	Generation string `json:"gen,omitempty"`
	PID        int    `json:"pid,omitempty"`
	Code       string `json:"code,omitempty"` // codeRunning or ""
	Error      string `json:"error,omitempty"`
}

const codeRunning = "already_running"

// spawn starts the program and waits until it says that it is ready. The caller
// holds the start lock.
func (d *Daemon) spawn(ctx context.Context) error {
	if d.cfg.Binary == "" {
		return &StartError{Reason: "the path of the running program is not known; set Config.Binary"}
	}
	out, err := openLog(d.files.log, maxLog)
	if err != nil {
		return &StartError{Reason: err.Error()}
	}
	defer out.Close()
	start, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return &StartError{Reason: err.Error()}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return &StartError{Reason: err.Error()}
	}
	defer r.Close()
	child, err := sys.StartDetached(sys.Detached{
		Path: d.cfg.Binary, Argv: append([]string{d.cfg.Binary}, d.cfg.Args...), Env: d.childEnv(), Dir: d.cfg.Dir,
		Output: out, Ready: w, ReadyVar: readyVar,
	})
	w.Close()
	if err != nil {
		return &StartError{Reason: err.Error()}
	}
	err = d.awaitReady(ctx, r, child)
	var se *StartError
	if errors.As(err, &se) {
		se.Log = tail(d.files.log, start)
	}
	return err
}

func (d *Daemon) childEnv() []string {
	env := d.cfg.Env
	if env == nil {
		env = os.Environ()
	}
	return append(env[:len(env):len(env)], modeVar+"=1", dirVar+"="+d.files.dir)
}

func (d *Daemon) awaitReady(ctx context.Context, r *os.File, child *sys.Child) error {
	type said struct {
		line []byte
		err  error
	}
	lines := make(chan said, 1)
	go func() {
		line, err := readLine(bufio.NewReader(r), maxHello)
		lines <- said{line, err}
	}()
	exited := child.Exited()
	silent := false // the pipe has ended without a line
	for {
		var again <-chan time.Time
		if silent {
			// A wrapper that hands no descriptor on: nothing will tell but the door.
			again = time.After(dialPause)
		}
		select {
		case s := <-lines:
			if s.err == nil {
				return ready(s.line, child)
			}
			silent, lines = true, nil
		case <-exited:
			exited = nil
		case <-again:
			if l, err := d.connect(ctx, greeting{Role: roleControl}); err == nil {
				return l.Close()
			}
		case <-ctx.Done():
			return d.giveUp(ctx, child)
		}
		if silent && exited == nil {
			d.end(child)
			return &StartError{Exited: true, Exit: child.Exit()}
		}
	}
}

// ready reads what the daemon said of itself.
func ready(line []byte, child *sys.Child) error {
	var said readiness
	err := json.Unmarshal(line, &said)
	switch {
	case err != nil:
		return &StartError{Reason: fmt.Sprintf("it said %.200q on the readiness pipe", line)}
	case said.OK:
		return nil
	case said.Code == codeRunning:
		return ErrAlreadyRunning
	}
	se := &StartError{Reason: said.Error}
	// It leaves right after saying so.
	t := time.NewTimer(killLimit)
	defer t.Stop()
	select {
	case <-child.Exited():
		se.Exited, se.Exit = true, child.Exit()
	case <-t.C:
	}
	return se
}

// giveUp ends a child that took too long, unless it serves after all: then it
// is somebody's daemon already.
func (d *Daemon) giveUp(ctx context.Context, child *sys.Child) error {
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
	defer cancel()
	if l, err := d.connect(look, greeting{Role: roleControl}); err == nil {
		l.Close()
	} else {
		d.end(child)
	}
	return &StartError{Err: context.Cause(ctx)}
}

// end kills what was started, with its descendants.
func (d *Daemon) end(child *sys.Child) {
	ctx, cancel := context.WithTimeout(context.Background(), killLimit)
	defer cancel()
	// Best effort: what cannot be ended has been reported as not ready.
	_ = child.Kill(ctx)
}

// tail gives the last lines of a file from an offset on.
func tail(path string, from int64) []string {
	f, err := sys.OpenShared(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	from = max(from, end-tailBytes, 0)
	b := make([]byte, max(end-from, 0))
	n, err := f.ReadAt(b, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	text := strings.ToValidUTF8(string(bytes.TrimSpace(b[:n])), "\ufffd")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-tailLines):]
}
