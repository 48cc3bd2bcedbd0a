package daemon

import (
	"errors"
	"fmt"
	"strings"

	"github.com/belfry-dev/belfry/sys"
)

// The errors that callers tell apart, for errors.Is.
var (
	// ErrNotRunning: no daemon answers.
	ErrNotRunning = errors.New("daemon: not running")
	// ErrAlreadyRunning: Start or Serve found one; the text names it.
	ErrAlreadyRunning = errors.New("daemon: already running")
	// ErrStartTimeout: the started process was not ready within Config.Timeout.
	ErrStartTimeout = errors.New("daemon: start timed out")
	// ErrUnhealthy: a daemon is there and does not answer; see *UnresponsiveError.
	ErrUnhealthy = errors.New("daemon: unhealthy")
	// ErrStalePIDFile: the PID file names a process that is gone.
	ErrStalePIDFile = errors.New("daemon: stale PID file")
	// ErrInvalidConfig: see Config.Validate.
	ErrInvalidConfig = errors.New("daemon: invalid config")
	// ErrStopIntent: starting is forbidden by Hold; see *HeldError.
	ErrStopIntent = errors.New("daemon: held; use Release or Start to allow restarts")
	// ErrSpawnCooldown: a start failed a moment ago; see *CooldownError.
	ErrSpawnCooldown = errors.New("daemon: cooling down after a failed start")
	// ErrUnavailable: the system does not let us connect, or what answers is
	// not a daemon of ours. Nothing was started or removed.
	ErrUnavailable = errors.New("daemon: unavailable")
	// ErrVersion: the daemon that runs lacks what the client requires, and is
	// busy, or newer.
	ErrVersion = errors.New("daemon: incompatible version")
	// ErrDraining: the daemon is on its way out and takes nothing new.
	ErrDraining = errors.New("daemon: draining")
)

// UnresponsiveError is a daemon that accepts connections and does not say
// hello: stopped, hung, or drowned in work. It wraps ErrUnhealthy.
type UnresponsiveError struct {
	ID sys.ID // zero where it could not be found out
}

func (e *UnresponsiveError) Error() string {
	if e.ID.PID == 0 {
		return fmt.Sprintf("the daemon is unresponsive: no hello within %v; end it, or stop it by force", helloLimit)
	}
	return fmt.Sprintf("the daemon (process %d) is unresponsive: no hello within %v; end it, or stop it by force", e.ID.PID, helloLimit)
}

// Unwrap gives ErrUnhealthy.
func (e *UnresponsiveError) Unwrap() error { return ErrUnhealthy }

// AlreadyRunningError is a daemon that runs where one was to be started. It
// wraps ErrAlreadyRunning.
type AlreadyRunningError struct{ Info Info }

func (e *AlreadyRunningError) Error() string {
	return fmt.Sprintf("%v: process %d, generation %s, at %s", ErrAlreadyRunning, e.Info.PID, e.Info.Generation, e.Info.Endpoint)
}

// Unwrap gives ErrAlreadyRunning.
func (e *AlreadyRunningError) Unwrap() error { return ErrAlreadyRunning }

// HeldError is a start that Hold forbids. It wraps ErrStopIntent.
type HeldError struct{ Held Held }

func (e *HeldError) Error() string {
	why := ""
	if e.Held.Reason != "" {
		why = ": " + e.Held.Reason
	}
	return fmt.Sprintf("the daemon is held%s (since %s, by %s); release it to allow starts", why, e.Held.Since.Format("2006-01-02 15:04:05 MST"), e.Held.By)
}

// Unwrap gives ErrStopIntent.
func (e *HeldError) Unwrap() error { return ErrStopIntent }

// CooldownError is a start that was not tried. It wraps ErrSpawnCooldown.
type CooldownError struct{ Cooldown Cooldown }

func (e *CooldownError) Error() string {
	return fmt.Sprintf("the last start failed and the next is tried after %s: %s",
		e.Cooldown.Until.Format("15:04:05"), e.Cooldown.Error)
}

// Unwrap gives ErrSpawnCooldown.
func (e *CooldownError) Unwrap() error { return ErrSpawnCooldown }

// StartError is a process that was started and did not become a daemon.
type StartError struct {
	Exited bool     // it ended by itself, as Exit says
	Exit   sys.Exit // meaningful when Exited
	Reason string   // what it said itself, or what the starter saw
	Log    []string // its last lines of output, oldest first
	Err    error    // ErrStartTimeout, a context's error, or nil
}

func (e *StartError) Error() string {
	var b strings.Builder
	b.WriteString("start the daemon: ")
	switch {
	case e.Exited && e.Exit.Signal != 0:
		fmt.Fprintf(&b, "it was ended by signal %d before it was ready", int(e.Exit.Signal))
	case e.Exited:
		fmt.Fprintf(&b, "it ended with status %d before it was ready", e.Exit.Code)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString("it did not get ready")
	}
	if e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	if n := len(e.Log); n > 0 {
		fmt.Fprintf(&b, " (last output: %s)", strings.Join(e.Log[max(0, n-5):], " | "))
	}
	return b.String()
}

// Unwrap gives Err.
func (e *StartError) Unwrap() error { return e.Err }
