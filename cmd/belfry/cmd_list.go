package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/spf13/cobra"
)

func (a *App) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "list [--json] [--label KEY=VALUE]... [--health live|stale|unprobed]",
		DisableFlagsInUseLine: true,
		Short:                 "List the runs of this user",
		Long: `List the runs that are registered. A run is live while its runner holds its
lock, stale when the runner died without taking it off the list (belfry prune
removes it), and unprobed when the lock cannot be asked. Nothing is changed and
no runner is spoken to. A terminal that is too narrow for all columns is shown
less of them; a pipe never is. Colours are for terminals, and left out where
NO_COLOR is set.

Exit status:
  0 listed; also when there is none      100 the command line was not understood
  111 the registry cannot be read`,
		Example: `  belfry list
  belfry list --health stale --json`,
		Args: noArguments,
	}
	asJSON := switchOption(cmd, "json", "print one JSON object a line")
	labels := labelFilter(cmd)
	health := option(cmd, "health", "live|stale|unprobed", "only runs in this state")
	cmd.RunE = func(*cobra.Command, []string) error {
		var only registry.Health
		want, err := readLabels(labels)
		if err == nil {
			err = readOption(health, "health", readHealth, &only)
		}
		if err != nil {
			return err
		}
		r, err := a.remote("")
		if err != nil {
			return err
		}
		l, err := r.Registry.List()
		if err != nil {
			return unreached("", err)
		}
		a.warnUnreadable(l.Unreadable)
		runs := slices.DeleteFunc(l.Entries, func(e registry.Entry) bool {
			return !e.Has(want) || only != "" && e.Health != only
		})
		if asJSON.given {
			return a.printRuns(runs)
		}
		return a.printRunTable(runs)
	}
	return cmd
}

func readHealth(s string) (registry.Health, error) {
	switch h := registry.Health(s); h {
	case registry.Live, registry.Stale, registry.Unprobed:
		return h, nil
	}
	return "", errors.New("it is live, stale or unprobed")
}

// listedRun is one run of list.
type listedRun struct {
	RunID      string            `json:"run_id"`
	Health     registry.Health   `json:"health"`
	StartedAt  string            `json:"started_at"`
	Hint       *string           `json:"hint"`
	SHA256     *string           `json:"argv_sha256"`
	Labels     map[string]string `json:"labels"`
	JSONL      *string           `json:"jsonl"`
	CaptureDir *string           `json:"capture_dir"`
	Endpoint   *string           `json:"endpoint"`
}

func listed(e registry.Entry) listedRun {
	return listedRun{
		RunID: e.RunID, Health: e.Health, StartedAt: registry.FormatTime(e.StartedAt),
		Hint: orNull(e.Hint), SHA256: orNull(e.ArgvSHA256), Labels: e.Labels,
		JSONL: orNull(e.JSONL), CaptureDir: orNull(e.CaptureDir), Endpoint: orNull(e.Endpoint),
	}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (a *App) printRuns(runs []registry.Entry) error {
	for _, e := range runs {
		if err := a.printLine(listed(e)); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) printRunTable(runs []registry.Entry) error {
	if len(runs) == 0 {
		return a.printf("no runs registered\n")
	}
	t := table{columns: []column{{head: "RUN_ID"}, {head: "HEALTH"}, {head: "STARTED_AT"}, {head: "HINT", least: 8},
		{head: "ARGV_SHA256", spare: 4}, {head: "LABELS", least: 12, spare: 1}, {head: "JSONL", least: 16, path: true, spare: 2},
		{head: "CAPTURE_DIR", least: 16, path: true, spare: 3}, {head: "ENDPOINT", least: 16, path: true, spare: 5}}}
	for _, e := range runs {
		x := listed(e)
		if x.SHA256 != nil {
			short := (*x.SHA256)[:12] + "..."
			x.SHA256 = &short
		}
		t.add(cell{shown(x.RunID), ""}, cell{string(x.Health), stateColour(string(x.Health))}, cell{x.StartedAt, faint},
			cell{orDash(x.Hint), ""}, cell{orDash(x.SHA256), faint}, cell{labelText(x.Labels), ""}, cell{orDash(x.JSONL), ""},
			cell{orDash(x.CaptureDir), ""}, cell{orDash(x.Endpoint), faint})
	}
	return a.printTable(&t)
}

func labelText(labels map[string]string) string {
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, k+"="+labels[k])
	}
	text := strings.Join(pairs, ",")
	return orDash(&text)
}
