package main

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-dev/belfry/runner/detach"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/sys"
	"github.com/spf13/cobra"
)

func (a *App) pruneCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "prune [--json] [--dry-run] [--label KEY=VALUE]...",
		DisableFlagsInUseLine: true,
		Short:                 "Remove what killed runners have left",
		Long: `Remove the records, locks and sockets of runs whose runner is certainly dead,
and locks without a record that are older than 5 s. Unless labels are given it
also forgets the servers that were killed, ends the trees that a killed belfry
has left, by the container that was recorded, as belfry doctor --sweep does, and
removes the transcripts of detached jobs that no server has, 7 days after their
end or, oldest first, beyond 512 MiB. What is live, or may be, is not touched.

Exit status:
  0 done; also when there was nothing    100 the command line was not understood
  111 the registry cannot be read, or something could not be removed`,
		Example: `  belfry prune --dry-run
  belfry prune --json`,
		Args: noArguments,
	}
	asJSON := switchOption(cmd, "json", "print one JSON object")
	dry := switchOption(cmd, "dry-run", "tell what would be removed, and remove nothing")
	labels := labelFilter(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		want, err := readLabels(labels)
		if err != nil {
			return err
		}
		r, err := a.remote("")
		if err != nil {
			return err
		}
		done, failed := r.Registry.Prune(registry.PruneOptions{DryRun: dry.given, Labels: want})
		if !dry.given && len(want) == 0 {
			a.forgetServers()
			sys.SweepTempEndpoints(justMade)
			a.endLeftTrees(cmd.Context())
			a.dropTranscripts()
		}
		switch {
		case failed != nil && done.Nothing():
			// Not read at all, perhaps: that it holds nothing would be no truth.
		case asJSON.given:
			err = a.printPruned(done, dry.given)
		default:
			err = a.printPrunedLine(done, dry.given)
		}
		if failed != nil {
			return unreached("", failed)
		}
		return err
	}
	return cmd
}

// forgetServers removes the records of killed servers. It is beside what prune
// was asked for, so what it cannot do is told and is no failure.
func (a *App) forgetServers() {
	dir, err := registry.ServersDir(a.Env)
	var done registry.Pruned
	if err == nil {
		done, err = registry.OpenServers(dir).Prune(registry.PruneOptions{})
	}
	if err != nil {
		a.logf("warning: the records of killed servers: %v", err)
	}
	if done.Pruned > 0 {
		a.logf("forgot %s", plural(done.Pruned, "server that was killed", "servers that were killed"))
	}
}

// justMade is how long a socket may be there before its record is.
const justMade = 5 * time.Second

// endLeftTrees ends the trees of killed belfries. It is beside what prune was
// asked for, so what it cannot do is told and is no failure.
func (a *App) endLeftTrees(ctx context.Context) {
	results, err := a.sweep(ctx)
	if err != nil {
		a.logf("warning: what killed runs left was not looked for: %v", err)
	}
	for _, r := range results {
		switch {
		case r.Outcome == sys.SweptFailed:
			a.logf("warning: what a killed run left in %s could not be ended: %s", shown(r.Container), shown(r.Detail))
		case r.Outcome == sys.SweptEnded && r.Ended > 0:
			a.logf("ended %s that a killed run had left", plural(r.Ended, "process", "processes"))
		}
	}
}

// dropTranscripts removes what is kept of detached jobs for too long. It is
// beside what prune was asked for as well.
func (a *App) dropTranscripts() {
	dir, err := sys.StateDir(a.Env)
	if err != nil {
		return // then there are none
	}
	done, err := detach.Prune(dir)
	if err != nil {
		a.logf("warning: the transcripts of detached jobs could not all be removed: %v", err)
	}
	if done.Jobs > 0 {
		a.logf("removed %s of detached jobs, %d bytes", plural(done.Jobs, "transcript", "transcripts"), done.Bytes)
	}
}

// pruned is the report; Candidates are there in a dry run alone.
type pruned struct {
	Pruned        int `json:"pruned"`
	Live          int `json:"live"`
	Unprobed      int `json:"unprobed"`
	OrphanedLocks int `json:"orphaned_locks"`
}

// candidateEntry and candidateLock are what would be removed.
type candidateEntry struct {
	Kind      string  `json:"kind"` // entry
	RunID     string  `json:"run_id"`
	StartedAt string  `json:"started_at"`
	SocketDir *string `json:"socket_dir"`
}

type candidateLock struct {
	Kind string `json:"kind"` // orphaned_lock
	Name string `json:"lock_file_name"`
}

func (a *App) printPruned(p registry.Pruned, dry bool) error {
	report := pruned{p.Pruned, p.Live, p.Unprobed, p.OrphanedLocks}
	if !dry {
		return a.printLine(report)
	}
	candidates := []any{}
	for _, e := range p.Entries {
		c := candidateEntry{Kind: "entry", RunID: e.RunID, StartedAt: registry.FormatTime(e.StartedAt)}
		if sys.IsTempEndpoint(e.Endpoint) {
			c.SocketDir = orNull(sys.TempEndpointDir(e.Endpoint))
		}
		candidates = append(candidates, c)
	}
	for _, name := range p.Locks {
		candidates = append(candidates, candidateLock{"orphaned_lock", name})
	}
	return a.printLine(struct {
		pruned
		Candidates []any `json:"candidates"`
	}{report, candidates})
}

func (a *App) printPrunedLine(p registry.Pruned, dry bool) error {
	if p.Nothing() {
		return a.printf("no stale entries\n")
	}
	verb := "pruned"
	if dry {
		verb = "would prune"
	}
	for _, e := range p.Entries {
		if err := a.printf("stale: %s, started %s\n", shown(e.RunID), registry.FormatTime(e.StartedAt)); err != nil {
			return err
		}
	}
	return a.printf("%s %s and %s; %d live, %d unprobed\n", verb,
		plural(p.Pruned, "stale entry", "stale entries"), plural(p.OrphanedLocks, "orphaned lock", "orphaned locks"), p.Live, p.Unprobed)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
