package main

import (
	"fmt"
	"path/filepath"

	"github.com/belfry-dev/belfry/sys"
)

// recordsDir is where hosts note their containers, for a later sweep.
func (a *App) recordsDir() (string, error) {
	dir, err := sys.RuntimeDir(a.Env)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "trees"), nil
}

// newHost opens this machine as a starter of trees, with the user's records of
// containers. Where there is no place for them it works without, and says so.
func (a *App) newHost() (sys.Host, error) {
	o := sys.HostOptions{ThreadsLast: true}
	var err error
	if o.Records, err = a.recordsDir(); err != nil {
		a.logf("no record is kept of what a killed belfry would leave: %v", err)
	}
	h, err := sys.NewHost(o)
	if err != nil {
		return nil, fmt.Errorf("open host: %w", err)
	}
	return h, nil
}
