package main

import (
	"context"
	"errors"

	"github.com/belfry-dev/belfry/runner/detach"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/sys"
	"github.com/spf13/cobra"
)

const superviseVerb = "supervise"

// superviseCommand is what a server starts for a job that is to outlive it. It
// is no verb for people.
func (a *App) superviseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   superviseVerb + " [--handover] FOLDER",
		DisableFlagsInUseLine: true,
		Hidden:                true,
		Short:                 "Supervise a detached job, for belfry itself",
		Args:                  cobra.ExactArgs(1),
	}
	handover := switchOption(cmd, "handover", "start the supervisor, and leave it alone")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ready := sys.ReadyFile(a.Env(detach.ReadyVar))
		if ready == nil {
			return usage("", "%s is started by a server, for a job with detach", superviseVerb)
		}
		o, err := a.superviseOptions()
		if err != nil {
			return errors.Join(err, ready.Close())
		}
		if handover.given {
			return detach.Restart(args[0], ready, o)
		}
		life := newLifetime(context.Background())
		defer life.stop()
		return detach.Supervise(life.serve, life.patience, args[0], ready, o)
	}
	return cmd
}

func (a *App) superviseOptions() (o detach.Options, err error) {
	dir, err := registry.Dir(a.Env)
	if err != nil {
		return o, err
	}
	o.Registry, o.Version = registry.Open(dir), versionOf().Version
	if o.Records, err = a.recordsDir(); err != nil {
		a.logf("no record is kept of what a killed belfry would leave: %v", err)
	}
	o.Starter, err = a.supervisorStarter()
	return o, err
}
