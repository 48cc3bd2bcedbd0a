package main

import (
	"strings"

	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/spf13/cobra"
)

// choices are the options whose values are few, for a shell's completion.
var choices = map[string][]string{
	errorFormatFlag:          {"human", "json"},
	"health":                 {string(registry.Live), string(registry.Stale), string(registry.Unprobed)},
	"stream":                 {"stdout", "stderr"},
	"contain":                {"strict", "tree", "group"},
	"capture-overflow":       {"truncate", "cancel"},
	"require-mechanism":      {"job_object", "cgroup_v2", "process_group", "process_reaper"},
	"require-abrupt-cleanup": {"whole_tree", "direct_child_only", "none"},
	"require-schema-version": {"1"},
	"require-exit-code-band": {"100-119"},
}

// fromList are the verbs whose --run-id names a run that there is.
var fromList = map[string]bool{"inspect": true, "cancel": true, "kill": true, "attest": true, "wait": true, "events": true}

// completeOptions teaches the shells what the options of all verbs take. What is no
// file is not completed with files.
func (a *App) completeOptions(root *cobra.Command) {
	for _, cmd := range append(root.Commands(), root) {
		for name, values := range choices {
			if cmd.Flags().Lookup(name) == nil && cmd.PersistentFlags().Lookup(name) == nil {
				continue
			}
			// The only error is a flag that is not there.
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
		if fromList[cmd.Name()] {
			_ = cmd.RegisterFlagCompletionFunc("run-id", a.knownRuns)
		}
	}
}

// knownRuns are the ids of the runs that are listed, each with its health.
func (a *App) knownRuns(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	dir, err := registry.Dir(a.Env)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	l, err := registry.Open(dir).List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []string
	for _, e := range l.Entries {
		if strings.HasPrefix(e.RunID, begun) {
			ids = append(ids, shown(e.RunID)+"\t"+string(e.Health))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
