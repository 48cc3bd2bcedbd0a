package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/belfry-dev/belfry/daemon"
	"github.com/belfry-dev/belfry/sys"
)

// The statuses of belfry daemon.
const (
	exitNotRunning   = 3
	exitHeld         = 4
	exitCooling      = 5
	exitStartFailed  = 6
	exitUnavailable  = 7
	exitBeside       = 8
	exitUnresponsive = 9
)

// daemonFailure is what --json prints of a failure.
type daemonFailure struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Detail  map[string]any `json:"detail,omitempty"`
}

// fail makes the status, the hint and with --json the object of an error.
func (v *daemonVerb) fail(err error) error {
	var f *failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	status, hint, told := v.sort(err)
	if v.asJSON {
		if werr := v.line(map[string]daemonFailure{"error": told}); werr != nil {
			return werr
		}
	}
	return &failure{status: status, err: errors.New(oneLine(err)), hint: hint, told: v.asJSON}
}

// sort says what kind of failure an error is.
func (v *daemonVerb) sort(err error) (status int, hint string, f daemonFailure) {
	f = daemonFailure{Message: oneLine(err), Detail: map[string]any{}}
	var (
		start  *daemon.StartError
		hung   *daemon.UnresponsiveError
		beside *daemon.AlreadyRunningError
		held   *daemon.HeldError
	)
	switch {
	case errors.As(err, &held):
		f.Code = "held"
		if held.Held.Reason != "" {
			f.Detail["reason"] = held.Held.Reason
		}
		return exitHeld, "belfry daemon release" + v.scopeFlag() + " allows it again", f
	case errors.Is(err, daemon.ErrSpawnCooldown):
		f.Code = "cooling_down"
		return exitCooling, "belfry daemon restart" + v.scopeFlag() + " does not wait", f
	case errors.As(err, &beside):
		f.Code = "already_running"
		f.Detail["pid"] = beside.Info.PID
		return exitBeside, "", f
	case errors.As(err, &hung):
		f.Code = "unresponsive"
		if hung.ID.PID != 0 {
			f.Detail["pid"] = hung.ID.PID
		}
		return exitUnresponsive, "belfry daemon restart --force" + v.scopeFlag() + " ends it and starts a new one", f
	case errors.Is(err, daemon.ErrUnavailable):
		return exitUnavailable, "", unavailable(err, f)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, daemon.ErrStartTimeout):
		f.Code = "timeout"
	default:
		f.Code = "start_failed"
	}
	if errors.As(err, &start) {
		startDetail(start, f.Detail)
	}
	return exitStartFailed, "", f
}

func (v *daemonVerb) scopeFlag() string {
	if v.scope == defaultScope {
		return ""
	}
	return " --scope " + v.scope
}

func startDetail(e *daemon.StartError, detail map[string]any) {
	if len(e.Log) > 0 {
		detail["log_tail"] = e.Log
	}
	switch {
	case !e.Exited:
	case e.Exit.Signal != 0:
		detail["signal"] = e.Exit.Signal.String()
	default:
		detail["exit_status"] = e.Exit.Code
	}
}

// unavailable says what keeps us from connecting.
func unavailable(err error, f daemonFailure) daemonFailure {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Detail["errno"] = int(errno)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		f.Detail["path"] = at.Path
	}
	switch {
	case errors.Is(err, sys.ErrUnsafeDir):
		f.Code = "unsafe_directory"
	case errors.Is(err, syscall.ENAMETOOLONG):
		f.Code = "path_too_long"
	case errors.Is(err, fs.ErrPermission):
		f.Code = "permission_denied"
	default:
		f.Code = "unavailable"
	}
	return f
}

// oneLine is an error's text on one line, without what only tells which part of
// the program speaks.
func oneLine(err error) string {
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", ": ")
	return strings.TrimPrefix(text, errNoSharing.Error()+": ")
}
