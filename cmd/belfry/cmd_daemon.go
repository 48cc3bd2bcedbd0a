package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-dev/belfry/daemon"
	"github.com/belfry-dev/belfry/sys"
	"github.com/spf13/cobra"
)

// daemonStatuses is the end of every daemon verb's help.
const daemonStatuses = `
Exit status: 0 done, also when there was nothing to do; 3 not running (status);
4 held; 5 cooling down after a failed start; 6 the start failed, or the time was
over; 7 unavailable: the system forbids it or the directory is not safe; 8
already running (serve); 9 unresponsive; 100 the command line was not understood.`

func (a *App) daemonCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Manage the background server that agents share",
		Long: `The background server keeps the jobs of all agents of this user that run belfry
mcp --shared. It is started when somebody needs it and leaves when nobody is
attached and no job runs. Each scope has a server of its own.

Environment:
  BELFRY_RUNTIME_DIR        where sockets, locks and logs are
  BELFRY_IDLE_TIMEOUT_MS    how long it stays without clients and jobs (600000;
                            0: for ever)
  BELFRY_DRAIN_TIMEOUT_MS   how long requests may go on after a stop (10000)
  BELFRY_DAEMON_BINARY      the program to start instead of this one
  BELFRY_NO_DAEMON          1: belfry mcp --shared serves alone
  BELFRY_STATE_DIR          where the transcripts of detached jobs are
                            ($XDG_STATE_HOME/belfry)
`,
		Args: knownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage(cmd.CommandPath()+" --help lists the verbs", "no verb was given")
		},
	}
	cmd.AddCommand(a.daemonServe(), a.daemonStart(), a.daemonStop(), a.daemonRestart(), a.daemonStatus(), a.daemonHold(), a.daemonRelease())
	return cmd
}

// daemonVerb is what all of them have in common.
type daemonVerb struct {
	a       *App
	asJSON  bool
	scope   string
	timeout time.Duration
	force   bool
	d       *daemon.Daemon
	config  daemon.Config
}

// newDaemonVerb adds the flags of all verbs. run gets a context that ends with
// --timeout.
func (a *App) newDaemonVerb(use, short, long, example string, run func(ctx context.Context, v *daemonVerb) error) (*cobra.Command, *daemonVerb) {
	v := &daemonVerb{a: a}
	cmd := &cobra.Command{
		Use: use + " [--scope NAME] [--timeout DURATION] [--json]", DisableFlagsInUseLine: true, Short: short,
		Long: long + "\n" + daemonStatuses, Example: example, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case v.scope == "":
				return usage("", "--scope: is empty")
			case cmd.Flags().Changed("timeout") && v.timeout <= 0:
				return usage("", "--timeout: must be more than nothing")
			}
			ctx := cmd.Context()
			if v.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, v.timeout)
				defer cancel()
			}
			var err error
			if v.config, err = a.daemonConfig(v.scope); err == nil {
				v.d = daemon.New(v.config)
				err = run(ctx, v)
			}
			return v.fail(err)
		},
	}
	cmd.Flags().BoolVar(&v.asJSON, "json", false, "print one JSON object on one line")
	cmd.Flags().StringVar(&v.scope, "scope", defaultScope, "which server; each has jobs of its own")
	cmd.Flags().DurationVar(&v.timeout, "timeout", 0, "how long this command waits, such as 5s (no bound but the server's own)")
	return cmd, v
}

func (v *daemonVerb) addForce(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&v.force, "force", false, "end a server that does not answer")
}

func (a *App) daemonServe() *cobra.Command {
	cmd, _ := a.newDaemonVerb("serve", "Be the server, in the foreground",
		`Serve until it is told to stop (SIGINT, SIGTERM, belfry daemon stop) or has been
idle for long enough. --timeout has no meaning here.`,
		"  belfry daemon serve\n  belfry daemon serve --scope ci",
		func(_ context.Context, v *daemonVerb) error {
			h, err := a.newHosting(v.scope)
			if err != nil {
				return err
			}
			return h.serve(context.Background(), v.config)
		})
	return cmd
}

func (a *App) daemonStart() *cobra.Command {
	cmd, _ := a.newDaemonVerb("start", "Start the server if it does not run",
		`Print the server that runs; start it if none does. While an old one is on its
way out, wait for the new one. A hold and the pause after a failed start are
obeyed.`,
		"  belfry daemon start\n  belfry daemon start --timeout 5s --json",
		func(ctx context.Context, v *daemonVerb) error {
			if err := v.mayStart(); err != nil {
				return err
			}
			info, err := v.d.EnsureRunning(ctx)
			if err != nil {
				return err
			}
			return v.show(info)
		})
	return cmd
}

func (a *App) daemonStop() *cobra.Command {
	var verb *daemonVerb
	cmd, verb := a.newDaemonVerb("stop [--force]", "Stop the server",
		`Tell the server to leave and wait until it has. Requests in work may finish
within the drain time; then they are cut, and every job is ended that is not
detached. When --timeout is over first nothing is killed and the server goes on
leaving.`,
		"  belfry daemon stop\n  belfry daemon stop --force --timeout 30s",
		func(ctx context.Context, v *daemonVerb) error {
			stop := v.d.Shutdown
			if v.force {
				stop = v.d.Stop
			}
			if err := stop(ctx); err != nil {
				return err
			}
			return v.look()
		})
	verb.addForce(cmd)
	return cmd
}

func (a *App) daemonRestart() *cobra.Command {
	var verb *daemonVerb
	cmd, verb := a.newDaemonVerb("restart [--force]", "Stop the server and start a new one",
		`Stop the server as belfry daemon stop does and start a new one. A hold and the
pause after a failed start are ended.`,
		"  belfry daemon restart\n  belfry daemon restart --force",
		func(ctx context.Context, v *daemonVerb) error {
			if sys.InsideTree() {
				return fmt.Errorf("%w: %w", daemon.ErrUnavailable, errInside)
			}
			restart := v.d.RestartGently
			if v.force {
				restart = v.d.Restart
			}
			info, err := restart(ctx)
			if err != nil {
				return err
			}
			return v.show(info)
		})
	verb.addForce(cmd)
	return cmd
}

func (a *App) daemonStatus() *cobra.Command {
	cmd, _ := a.newDaemonVerb("status", "Show the server",
		`Show the server, its clients and the number of its jobs. Nothing is started.`,
		"  belfry daemon status\n  belfry daemon status --json",
		func(ctx context.Context, v *daemonVerb) error {
			info, err := v.d.Look(ctx)
			if err != nil {
				return err
			}
			if err := v.show(info); err != nil {
				return err
			}
			switch info.State {
			case daemon.StateRunning, daemon.StateDraining:
				return nil
			case daemon.StateUnresponsive:
				return &failure{status: exitUnresponsive, told: true}
			}
			return &failure{status: exitNotRunning, told: true}
		})
	return cmd
}

func (a *App) daemonHold() *cobra.Command {
	var reason string
	var span time.Duration
	cmd, _ := a.newDaemonVerb("hold [--reason TEXT] [--for DURATION]", "Stop the server and forbid starting it",
		`Stop the server and forbid that it is started when somebody needs it, until
belfry daemon release or restart.`,
		"  belfry daemon hold --reason 'disk swap'\n  belfry daemon hold --for 1h",
		func(ctx context.Context, v *daemonVerb) error {
			if span < 0 {
				return usage("", "--for: must be more than nothing")
			}
			var until time.Time
			if span > 0 {
				until = time.Now().Add(span)
			}
			if err := v.d.HoldUntil(ctx, reason, until); err != nil {
				return err
			}
			return v.look()
		})
	cmd.Flags().StringVar(&reason, "reason", "", "what those are told who are refused")
	cmd.Flags().DurationVar(&span, "for", 0, "end the hold by itself after so long, such as 30m")
	return cmd
}

func (a *App) daemonRelease() *cobra.Command {
	cmd, _ := a.newDaemonVerb("release", "End a hold",
		`End a hold. Nothing is started.`,
		"  belfry daemon release\n  belfry daemon release --scope ci",
		func(_ context.Context, v *daemonVerb) error {
			v.d.Release()
			if info, err := v.d.Status(); err == nil && info.Held != nil {
				return fmt.Errorf("release: it is held all the same, by %s: %s", info.Held.By, info.Held.Reason)
			}
			return v.look()
		})
	return cmd
}

// mayStart refuses to start a server inside a job.
func (v *daemonVerb) mayStart() error {
	if sys.InsideTree() && !v.d.IsRunning() {
		return fmt.Errorf("%w: %w", daemon.ErrUnavailable, errInside)
	}
	return nil
}

// look prints what is there after something was done.
func (v *daemonVerb) look() error {
	info, err := v.d.Status()
	if err != nil && !errors.Is(err, daemon.ErrUnavailable) {
		return err
	}
	if err != nil {
		return nil // done, and nothing more can be told
	}
	return v.show(info)
}
