package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
	"github.com/spf13/cobra"
)

func (a *App) policyCommand() *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Show and change which programs agents may run",
		Long: `The policy is a file that lists the programs which "belfry mcp" may start.
What is not listed is denied. An entry is a bare name, looked up in the PATH of
the server, or an absolute path; a link to a listed program passes, a copy of
it does not. A change takes effect at the next run.

The file is that of --policy, else of BELFRY_POLICY_FILE, else policy.json in
belfry's folder among the user's settings.`,
		Args: knownVerb,
		RunE: func(*cobra.Command, []string) error {
			return usage("belfry policy check|allow|show", "policy needs a verb of its own")
		},
	}
	cmd.PersistentFlags().StringVar(&file, "policy", "", "the policy file")
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print one JSON object")

	show := &cobra.Command{
		Use:   "show",
		Short: "Print the policy and what its entries lead to now",
		Args:  noArguments,
		RunE:  func(*cobra.Command, []string) error { return a.policyShow(file, asJSON) },
	}
	allow := &cobra.Command{
		Use:     "allow NAME...",
		Short:   "Add programs to the policy",
		Example: "  belfry policy allow go git make\n  belfry policy allow /bin/sh",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.policyAllow(cmd.Context(), file, asJSON, args) },
	}
	var line bool
	check := &cobra.Command{
		Use:                   "check [--shell] -- ARGV...",
		DisableFlagsInUseLine: true,
		Short:                 "Tell whether a command would be allowed, and why",
		Long: `Tell whether a command would be allowed, and by which entry. Nothing is run.

Exit status: 0 allowed; 1 denied, or the program cannot be found.`,
		Example: "  belfry policy check -- go test ./...\n  belfry policy check --shell -- 'make && make install'",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.policyCheck(file, asJSON, line, args) },
	}
	check.Flags().BoolVar(&line, "shell", false, "the command is a line for the shell")
	check.Flags().SetInterspersed(false)
	cmd.AddCommand(allow, check, show)
	return cmd
}

// policyEntry is one line of a policy and the program it leads to now.
type policyEntry struct {
	Entry string `json:"entry"`
	Path  string `json:"path,omitempty"` // absent: it leads to nothing and allows nothing
}

func entriesOf(p job.Policy, entries []string) []policyEntry {
	out := []policyEntry{}
	for _, e := range entries {
		path, _ := p.Resolve(e)
		out = append(out, policyEntry{e, path})
	}
	return out
}

func (a *App) policyShow(flag string, asJSON bool) error {
	file, err := a.policyFile(flag)
	if err != nil {
		return err
	}
	p, exists, err := a.readPolicy(file.Path)
	if err != nil {
		return err
	}
	entries := entriesOf(p, p.Allow)
	if asJSON {
		return a.printJSON(struct {
			File   string        `json:"file"`
			Exists bool          `json:"exists"`
			Allow  []policyEntry `json:"allow"`
		}{file.Path, exists, entries})
	}
	if len(entries) == 0 {
		what := "allows nothing"
		if !exists {
			what = "does not exist: everything is denied"
		}
		return a.printf("%s %s\n", file.Path, what)
	}
	if err := a.printf("%s allows\n", file.Path); err != nil {
		return err
	}
	for _, e := range entries {
		if err := a.printf("  %s\n", e); err != nil {
			return err
		}
	}
	return nil
}

func (e policyEntry) String() string {
	switch e.Path {
	case "":
		return e.Entry + " (not found now: allows nothing)"
	case e.Entry:
		return e.Entry
	}
	return e.Entry + " -> " + e.Path
}

func (a *App) policyAllow(ctx context.Context, flag string, asJSON bool, names []string) error {
	if slices.Contains(names, "") {
		return usage("belfry policy allow NAME...", "an empty name allows nothing")
	}
	file, err := a.policyFile(flag)
	if err != nil {
		return err
	}
	unlock, err := lockPolicy(ctx, file.Path)
	if err != nil {
		return err
	}
	defer unlock() // Best effort: the end of the process gives it back too.
	p, _, err := a.readPolicy(file.Path)
	if err != nil {
		return err
	}
	allow := slices.Clone(p.Allow)
	added := []string{}
	for _, name := range names {
		// A path is kept absolute: a relative one would mean another program
		// in every folder.
		if strings.ContainsAny(name, "/"+string(filepath.Separator)) {
			if name, err = filepath.Abs(name); err != nil {
				return fmt.Errorf("find %s: %w", name, err)
			}
		}
		// The file is JSON: it would keep another name than this one.
		if !utf8.ValidString(name) {
			return &failure{status: exitNo, err: fmt.Errorf("a policy cannot hold %q: it is not UTF-8", name),
				hint: "allow a link to it whose path is"}
		}
		if !slices.Contains(allow, name) {
			allow = append(allow, name)
			added = append(added, name)
		}
	}
	if len(added) > 0 {
		if err := writePolicy(file.Path, allow); err != nil {
			return err
		}
	}
	entries := entriesOf(p, added)
	for _, e := range entries {
		if e.Path == "" {
			a.logf("%s is not found now; it allows nothing until it is", e.Entry)
		}
	}
	if asJSON {
		return a.printJSON(struct {
			File  string        `json:"file"`
			Added []policyEntry `json:"added"`
		}{file.Path, entries})
	}
	if len(entries) == 0 {
		return a.printf("%s allows that already\n", file.Path)
	}
	for _, e := range entries {
		if err := a.printf("allowed %s\n", e); err != nil {
			return err
		}
	}
	return a.printf("in %s\n", file.Path)
}

// verdict is what a run of the command would meet.
type verdict struct {
	Allowed bool   `json:"allowed"`
	Program string `json:"program,omitempty"` // the file that would run
	Entry   string `json:"entry,omitempty"`   // the line of the policy that allows it
	Reason  string `json:"reason,omitempty"`  // why it is denied
	Code    string `json:"code,omitempty"`    // as in a job's diagnostic
	File    string `json:"file"`
	hint    string
}

func (a *App) policyCheck(flag string, asJSON, line bool, argv []string) error {
	file, err := a.policyFile(flag)
	if err != nil {
		return err
	}
	v := a.judge(file, line, argv)
	switch {
	case asJSON:
		err = a.printJSON(v)
	case v.Allowed:
		err = a.printf("allowed: %s by the entry %s of %s\n", v.Program, v.Entry, v.File)
	default:
		err = a.printf("denied: %s\n", v.Reason)
	}
	if err == nil && !v.Allowed {
		return &failure{status: exitNo, hint: v.hint}
	}
	return err
}

func (a *App) judge(file job.PolicyFile, line bool, argv []string) verdict {
	v := verdict{File: file.Path}
	base := a.base()
	if line {
		v.Program, _ = sys.Shell(strings.Join(argv, " "), base.ComSpec)
	} else {
		dir, err := os.Getwd()
		if err == nil {
			v.Program, err = sys.FindExecutable(argv[0], dir, a.searchPath(), base.PathExt)
		}
		if err != nil {
			var start *sys.StartError
			if errors.As(err, &start) {
				v.Code = string(start.Code)
			}
			v.Reason = err.Error()
			return v
		}
	}
	p, _, err := a.readPolicy(file.Path)
	if err != nil {
		v.Reason, v.Code = err.Error(), "policy_denied"
		return v
	}
	if v.Entry, v.Allowed = p.Decide(v.Program); !v.Allowed {
		name := v.Program
		if !line {
			name = argv[0]
		}
		v.Code = "policy_denied"
		v.Reason = fmt.Sprintf("%s is not in %s", v.Program, v.File)
		v.hint = "belfry policy allow " + name
		if flag := file.Origin; flag == "--policy" {
			v.hint += " --policy " + file.Path
		}
	}
	return v
}
