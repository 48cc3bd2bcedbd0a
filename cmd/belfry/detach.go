package main

import (
	"context"
	"os"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/sys"
)

// runDetached starts the run in a copy of this process and returns once the
// program runs, or is that copy.
func (a *App) runDetached(ctx context.Context, o runner.Options) error {
	if ready := sys.ReadyFile(a.Env(runner.ReadyVar)); ready != nil {
		return a.ended(runner.RunDetached(ctx, o, ready))
	}
	end := runner.Launch(ctx, append([]string{os.Args[0]}, a.Args...), o.Env.Base, o.AllowWeaker, o.Warn)
	if end.Source == "" {
		return nil
	}
	return a.ended(end)
}
