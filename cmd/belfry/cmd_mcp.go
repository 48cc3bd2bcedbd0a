package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/runner/desk"
	"github.com/belfry-dev/belfry/server"
	"github.com/belfry-dev/belfry/sys"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (a *App) mcpCommand() *cobra.Command {
	var policy, scope string
	var shared, detached bool
	cmd := &cobra.Command{
		Use:                   "mcp [--policy FILE] [--shared] [--scope NAME] [--detach-jobs]",
		DisableFlagsInUseLine: true,
		Short:                 "Serve an AI agent over MCP on stdin and stdout",
		Long: `Speak the Model Context Protocol on stdin and stdout until stdin ends. Seven
tools run commands in the background and read, follow and kill them.

The end of stdin, SIGTERM, SIGINT and SIGHUP end every job in an orderly way; a
second signal hastens it.

With --shared the jobs are those of a background server that all agents of this
user and scope share; it is started when need be (see belfry daemon) and keeps
them when the agent leaves. Policy, cwd roots, directory, umask, PATH and HOME
are still this process's own. Where there can be no such server this process
serves alone and says so.

With --detach-jobs every job gets a supervisor of its own, as one with detach in
its run does: it goes on when the server ends or is killed, and the next server of
this user and scope knows it, with all it has said and how it ended. belfry list
shows it as a run.

Environment:
  BELFRY_POLICY_FILE            the policy, unless --policy names another
  BELFRY_CWD_ROOTS              folders that working directories must lie in
  BELFRY_MAX_CONCURRENT_JOBS    jobs that run at once (8)
  BELFRY_MAX_QUEUE_DEPTH        jobs that wait for a place (32)
  BELFRY_KILL_GRACE_MS          between the soft stop and the hard kill (5000)
  BELFRY_JOB_RETENTION_MS       how long an ended job's output is kept (3600000)
  BELFRY_MAX_RETAINED_JOBS      ended jobs whose output is kept (200)
  BELFRY_RECORD_TTL_MS          how long an ended job's record is kept (604800000)
  BELFRY_MAX_RECORDS            records of ended jobs (10000)
  BELFRY_NO_DAEMON              1: --shared is ignored
  BELFRY_STATE_DIR              where the transcripts of detached jobs are
                                ($XDG_STATE_HOME/belfry)
  BELFRY_RUNTIME_DIR            where it is noted what a killed belfry would
                                leave, for the next start to end
  CLAUDE_CODE_MESSAGING_SOCKET, CLAUDE_CODE_MESSAGING_TOKEN
                                set by the host: wake it through its socket
  BELFRY_DISABLE_CLAUDE_MESSAGING_WAKE
                                1: leave that socket alone
  BELFRY_WAKE_TRANSPORT_ENABLED 1: wake the thread that a run names in its
                                _meta.threadId by "codex app-server"

Exit status: 0 orderly end; 1 the connection failed; 100 the command line was
not understood.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case scope == "":
				return usage("", "--scope: is empty")
			case shared && a.Env("BELFRY_NO_DAEMON") != "1":
				err := a.bridge(cmd.Context(), scope, policy, detached)
				if !errors.Is(err, errNoSharing) {
					return err
				}
				a.logf("serving alone: %s", oneLine(err))
			}
			return a.mcp(cmd.Context(), scope, policy, detached)
		},
	}
	cmd.Flags().BoolVar(&shared, "shared", false, "serve from the background server that agents share")
	cmd.Flags().StringVar(&scope, "scope", defaultScope, "which one; each has jobs of its own")
	cmd.Flags().BoolVar(&detached, "detach-jobs", false, "let every job outlive the server")
	cmd.Flags().StringVar(&policy, "policy", "", "the policy file")
	return cmd
}

func (a *App) mcp(ctx context.Context, scope, policyFlag string, detached bool) error {
	life := newLifetime(ctx)
	defer life.stop()

	if in, ok := a.Stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		a.logf("waiting for an MCP client on stdin; README.md tells how to add belfry to one")
	}
	policy, err := a.policyFile(policyFlag)
	if err != nil {
		// Without a settings folder there is no default policy: all is denied,
		// and each refusal says so.
		a.logf("%v", err)
		policy = job.PolicyFile{}
	}
	host, err := a.newHost()
	if err != nil {
		return err
	}
	place, err := a.detacher(aloneScope(scope))
	if err != nil {
		return errors.Join(err, host.Close())
	}
	config := a.jobConfig(policy)
	config.Launcher, config.Detacher = host, place
	store, err := job.NewStore(config)
	if err != nil {
		return errors.Join(fmt.Errorf("open store: %w", err), host.Close())
	}
	hosts, threads := a.hostDoors()
	list := &listing{a: a, desk: desk.Store{Jobs: store, Role: "mcp", Release: versionOf().Version}}
	defer list.atFirstJob(store)()
	ended := make(chan struct{})
	options := server.Options{
		Version:      versionOf().Version,
		Log:          a.logf,
		OnFirstReply: host.Prepare,
		OnEnd:        func() { life.end(); close(ended) },
		Hosts:        hosts,
		Detach:       detached,
	}
	if threads != nil {
		defer threads.Close()
		options.Thread = threads.Thread
	}
	srv, err := server.New(store, options)
	if err != nil {
		return errors.Join(fmt.Errorf("open server: %w", err), host.Close())
	}

	served := make(chan error, 1)
	go func() { served <- srv.Serve(life.serve, a.requests(), a.Stdout) }()
	// The jobs end beside the connection and not after it: a client that does
	// not read must not keep them alive.
	<-ended
	store.Close(life.patience)
	list.end()
	var failed error
	select {
	case failed = <-served:
	case <-life.patience.Done():
	}
	if life.serve.Err() != nil {
		failed = nil // a signal asked for the end
	}
	if err := place.Close(); err != nil {
		a.logf("let go of the detached jobs: %v", err)
	}
	if err := host.Close(); err != nil {
		a.logf("close host: %v", err)
	}
	if failed != nil {
		return fmt.Errorf("serve: %w", failed)
	}
	return nil
}

// requests is what a client's requests are read from.
func (a *App) requests() io.Reader {
	if in, ok := a.Stdin.(*os.File); ok {
		return sys.PolledInput(in)
	}
	return a.Stdin
}

// logf writes one line of talk to stderr.
func (a *App) logf(format string, args ...any) {
	a.words.say(a.Stderr, fmt.Sprintf("belfry: "+format+"\n", args...))
}
