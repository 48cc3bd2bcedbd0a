package main

import (
	"fmt"
	"os"

	"github.com/belfry-dev/belfry/runner/detach"
	"github.com/belfry-dev/belfry/sys"
)

// aloneScope is where a server that is not shared keeps its detached jobs. They
// are kept apart from those of the shared one: whoever starts first would take
// the other's.
func aloneScope(scope string) string { return "alone-" + scopeName(scope) }

// detacher keeps jobs that outlive this server, in a place of that name.
func (a *App) detacher(place string) (*detach.Place, error) {
	s, err := a.supervisorStarter("--handover")
	if err != nil {
		return nil, err
	}
	state, err := sys.StateDir(a.Env)
	p := detach.Open(state, err, place, s)
	p.Warn = a.logf
	return p, nil
}

// supervisorStarter is how this binary starts a supervisor.
func (a *App) supervisorStarter(flags ...string) (detach.Starter, error) {
	self, err := os.Executable()
	if err != nil {
		return detach.Starter{}, fmt.Errorf("find this program: %w", err)
	}
	return detach.Starter{
		Path: self, Args: append([]string{superviseVerb}, flags...), Env: daemonEnv(os.Environ()), Dir: rootOf(self),
	}, nil
}
