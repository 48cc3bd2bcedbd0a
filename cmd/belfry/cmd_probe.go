package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	bandStart = 100
	bandEnd   = 119
)

// capabilities are what no flag tells of.
var capabilities = []string{"attest:peer-identity", "run:resource-summary"}

// compatibility is the report of probe.
type compatibility struct {
	Version    int          `json:"probe_version"`
	Binary     string       `json:"binary"`
	Release    string       `json:"version"`
	Schema     int          `json:"schema_version"`
	Band       exitCodeBand `json:"exit_code_band"`
	Surface    []string     `json:"surface"`
	Compatible bool         `json:"compatible"`
	Mismatches []string     `json:"mismatches"`
}

type exitCodeBand struct {
	Start uint8 `json:"start"`
	End   uint8 `json:"end"`
}

// requirements are what a caller wants of this binary.
type requirements struct {
	schema  *once
	band    *once
	surface *repeated
}

func (a *App) probeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "probe --json [--require-schema-version N] [--require-exit-code-band A-B] [--require-surface TOKEN]... | --print-schema [--schema N]",
		DisableFlagsInUseLine: true,
		Short:                 "Tell an adapter what this binary can do",
		Long: `Print the version, the version of the event schema, the band of exit codes and
every verb (VERB) and flag (VERB:--FLAG) of this binary, and check what the
caller requires. With --print-schema print the JSON Schema of an event instead.

Exit status:
  0 all that is required is there        100 the command line was not understood
  110 something is not, and the report tells what`,
		Example: `  belfry probe --json --require-schema-version 1 --require-surface run:--timeout
  belfry probe --print-schema > events.schema.json`,
		Args: noArguments,
	}
	asJSON := switchOption(cmd, "json", "print one JSON object; it must be given")
	printSchema := switchOption(cmd, "print-schema", "print the JSON Schema of one line of the event stream")
	schema := option(cmd, "schema", "N", "the version that --print-schema prints (1)")
	need := requirements{
		schema:  option(cmd, "require-schema-version", "N", "this version of the event schema"),
		band:    option(cmd, "require-exit-code-band", "START-END", "this band of exit codes"),
		surface: repeatable(cmd, "require-surface", "TOKEN", "this verb or flag"),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		required := need.schema.given || need.band.given || len(need.surface.texts) > 0
		switch {
		case printSchema.given && required:
			return usage("", "--print-schema excludes what is required")
		case printSchema.given:
			n := runner.SchemaVersion
			if err := readOption(schema, "schema", schemaVersion, &n); err != nil {
				return err
			}
			return a.printf("%s", runner.Schema(n))
		case schema.given:
			return usage("", "--schema goes with --print-schema")
		case !asJSON.given:
			return usage("", "probe needs --json: there is no other form")
		}
		report := compatibility{
			Version: 1, Binary: "belfry", Release: versionOf().Version, Schema: runner.SchemaVersion,
			Band: exitCodeBand{bandStart, bandEnd}, Surface: surfaceOf(cmd.Root()), Mismatches: []string{},
		}
		if err := need.check(&report); err != nil {
			return err
		}
		report.Compatible = len(report.Mismatches) == 0
		if err := a.printLine(report); err != nil {
			return err
		}
		if !report.Compatible {
			return &failure{status: runner.ExitProbeIncompatible, told: true,
				err: fmt.Errorf("%s not met", plural(len(report.Mismatches), "requirement is", "requirements are"))}
		}
		return nil
	}
	return cmd
}

func (n requirements) check(r *compatibility) error {
	var schema uint64
	if err := readOption(n.schema, "require-schema-version", readVersion, &schema); err != nil {
		return err
	}
	if n.schema.given && schema != uint64(r.Schema) {
		r.Mismatches = append(r.Mismatches, fmt.Sprintf("schema version %d is required, and %d is written", schema, r.Schema))
	}
	var band exitCodeBand
	if err := readOption(n.band, "require-exit-code-band", readBand, &band); err != nil {
		return err
	}
	if n.band.given && band != r.Band {
		r.Mismatches = append(r.Mismatches, fmt.Sprintf("exit code band %d-%d is required, and it is %d-%d", band.Start, band.End, r.Band.Start, r.Band.End))
	}
	for _, token := range n.surface.texts {
		if !slices.Contains(r.Surface, token) {
			r.Mismatches = append(r.Mismatches, fmt.Sprintf("%q is required, and is not there", token))
		}
	}
	return nil
}

func readVersion(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, errors.New("a version is a whole number")
	}
	return n, nil
}

func readBand(s string) (exitCodeBand, error) {
	start, end, err := value.Band(s)
	return exitCodeBand{start, end}, err
}

// surfaceOf lists every verb and flag, sorted, each once. A verb of a verb is
// told as VERB:VERB.
func surfaceOf(root *cobra.Command) []string {
	tokens := slices.Clone(capabilities)
	for _, cmd := range root.Commands() {
		name := cmd.Name()
		if name == "help" || cmd.Hidden {
			continue
		}
		tokens = append(tokens, name)
		for _, sub := range cmd.Commands() {
			tokens = append(tokens, name+":"+sub.Name())
		}
		add := func(f *pflag.Flag) {
			if f.Name != "help" && f.Name != "version" {
				tokens = append(tokens, name+":--"+f.Name)
			}
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}
