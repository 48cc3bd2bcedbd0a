package main

import (
	"encoding/json"
	"fmt"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/spf13/cobra"
)

// selection are the options by which a verb is told of which runs it speaks.
type selection struct {
	runID, all *once // nil where the verb has no such option
	labels     *repeated

	id   string            // "" with all
	want map[string]string // labels
}

// selectOne adds --run-id, selectMany also --all with --label.
func selectOne(cmd *cobra.Command) *selection {
	return &selection{runID: option(cmd, "run-id", "ID", "the run of this id")}
}

func selectMany(cmd *cobra.Command) *selection {
	s := selectOne(cmd)
	s.all = switchOption(cmd, "all", "every live run")
	s.labels = labelFilter(cmd)
	return s
}

func labelFilter(cmd *cobra.Command) *repeated {
	return repeatable(cmd, "label", "KEY=VALUE", "only runs with this label; all that are given must be there")
}

// read checks what was given: one run, or all.
func (s *selection) read() error {
	every := s.all != nil && s.all.given
	switch {
	case every && s.runID.given:
		return usage("", "--run-id and --all exclude each other")
	case !every && !s.runID.given && s.all != nil:
		return usage("belfry list shows the runs", "no run was named: --run-id ID, or --all")
	case !every && !s.runID.given:
		return usage("belfry list shows the runs", "no run was named: --run-id ID")
	case s.labels != nil && len(s.labels.texts) > 0 && !every:
		return usage("", "--label goes with --all")
	}
	if s.labels != nil {
		var err error
		if s.want, err = readLabels(s.labels); err != nil {
			return err
		}
	}
	return readOption(s.runID, "run-id", runID, &s.id)
}

func runID(s string) (string, error) { return s, value.CheckRunID(s) }

func readLabels(r *repeated) (map[string]string, error) {
	want := map[string]string{}
	for _, text := range r.texts {
		k, v, err := value.Label(text)
		if err != nil {
			return nil, usage("", "--label: %w", err)
		}
		if had, twice := want[k]; twice && had != v {
			return nil, usage("", "--label: %s is wanted with two values, and no run has both", k)
		}
		want[k] = v
	}
	return want, nil
}

// reach checks what was given and opens the registry in which to look for it.
func (a *App) reach(s *selection) (runner.Remote, error) {
	if err := s.read(); err != nil {
		return runner.Remote{}, err
	}
	return a.remote(s.id)
}

// remote opens the registry that the environment names.
func (a *App) remote(id string) (runner.Remote, error) {
	dir, err := registry.Dir(a.Env)
	if err != nil {
		return runner.Remote{}, unreached(id, err)
	}
	return runner.Remote{Registry: registry.Open(dir)}, nil
}

// shown is a run's id, or another field that somebody else wrote, for a person.
func shown(s string) string { return value.Human(s) }

// printLine writes one JSON value in one line to stdout, without HTML escaping.
func (a *App) printLine(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// someFailed is the verdict of a verb that spoke with many runs; unsure says that
// there may be more than all.
func someFailed(failed, all int, unsure error) error {
	switch {
	case failed > 0:
		return &failure{status: runner.ExitControl, err: fmt.Errorf("%d of %d runs could not be reached", failed, all)}
	case unsure != nil:
		return &failure{status: runner.ExitControl, kind: kindUnprobed, err: fmt.Errorf("there may be more live runs: %w", unsure)}
	}
	return nil
}

// errorText is null, or why a run could not be reached.
func errorText(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	return &text
}

// warnUnreadable tells of records of which nothing is known.
func (a *App) warnUnreadable(n int) {
	if n > 0 {
		a.logf("warning: %s cannot be read, so there may be more than these", plural(n, "record", "records"))
	}
}
