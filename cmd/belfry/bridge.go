package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/belfry-dev/belfry/daemon"
	"github.com/belfry-dev/belfry/sys"
)

// errNoSharing: there can be no shared daemon here.
var errNoSharing = errors.New("no shared server here")

var errInside = errors.New("this process belongs to a job, with which a server started here would end")

// harmless are the methods that may be sent again when the daemon that had
// them is gone: they change nothing.
var harmless = []string{"initialize", "ping", "server/discover", "tools/list", "prompts/list", "prompts/get", "resources/list",
	"resources/templates/list", "resources/read", "completion/complete", "tasks/get", "tasks/list", "logging/setLevel"}

// harmlessTools are the tools of which that holds.
var harmlessTools = []string{"status", "list", "output", "tail"}

func mayRepeat(method, tool string) bool {
	return slices.Contains(harmless, method) || method == "tools/call" && slices.Contains(harmlessTools, tool)
}

// bridge serves an agent from the shared daemon. errNoSharing says that nothing
// was served and this process may do it itself.
func (a *App) bridge(ctx context.Context, scope, policyFlag string, detach bool) error {
	config, err := a.daemonConfig(scope)
	if err != nil {
		return errors.Join(errNoSharing, err)
	}
	if detach {
		config.Requires = append(config.Requires, "detach")
	}
	policy, err := a.policyFile(policyFlag)
	if err != nil {
		a.logf("%v", err) // all is denied then, and each refusal says so
	}
	around := a.surroundings(policy)
	around.Detach = detach
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// One that is started inside a job dies with that job and takes everybody's
	// jobs along.
	inside := sys.InsideTree()
	if inside {
		if !daemon.New(config).IsRunning() {
			return errors.Join(errNoSharing, errInside)
		}
		config.Binary = ""
	} else if _, err := daemon.New(config).EnsureRunning(ctx); errors.Is(err, daemon.ErrUnavailable) {
		return errors.Join(errNoSharing, err)
	} else if err != nil && ctx.Err() == nil {
		a.logf("%v; requests are refused until there is one", err)
	}
	err = daemon.Proxy(ctx, config, daemon.ProxyOptions{
		Stdin: a.requests(), Stdout: a.Stdout, Start: !inside, Role: "mcp", Meta: around, Resend: mayRepeat,
	})
	if ctx.Err() != nil {
		return nil // a signal asked for the end
	}
	return err
}
