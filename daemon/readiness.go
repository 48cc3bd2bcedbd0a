package daemon

import (
	"errors"
	"os"

	"github.com/belfry-dev/belfry/sys"
)

// herald tells a starter that waits whether this process became a daemon. A nil
// file is that of a daemon in the foreground, which nobody waits for.
type herald struct{ f *os.File }

// takeReadiness takes over what the starter handed on: the pipe, and nothing
// else that it has left open. The variables that say so end here.
func takeReadiness() herald {
	value, given := os.LookupEnv(readyVar)
	if !given {
		return herald{}
	}
	f := sys.ReadyFile(value)
	sys.CloseInherited(f)
	for _, name := range []string{modeVar, dirVar, readyVar} {
		// Best effort: only a name that no system takes cannot be unset.
		_ = os.Unsetenv(name)
	}
	return herald{f}
}

func (h herald) given() bool { return h.f != nil }

func (h herald) ok(generation string) error {
	return h.say(readiness{OK: true, Generation: generation, PID: os.Getpid()})
}

func (h herald) fail(cause error) {
	r := readiness{Error: cause.Error()}
	if errors.Is(cause, ErrAlreadyRunning) {
		r.Code = codeRunning
	}
	// Best effort: a starter that has given up does not read.
	_ = h.say(r)
}

func (h herald) say(r readiness) error {
	if h.f == nil {
		return nil
	}
	return errors.Join(writeMessage(h.f, r), h.f.Close())
}
