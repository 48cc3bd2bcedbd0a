package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/belfry-dev/belfry/runner/value"
	"github.com/spf13/cobra"
)

// The statuses that belfry itself ends with.
const (
	exitOK    = 0
	exitNo    = 1   // the verb was understood and the answer is no, or it failed
	exitUsage = 100 // the command line was not understood
)

// App is the program: what it reads, where it writes, its environment and its
// arguments without the program's name. Everything below main is reached
// through it, so that a test can run all of it in its own process.
type App struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    func(key string) string
	Args   []string

	words words
}

// Run runs one command line and returns the status to exit with.
func (a *App) Run(ctx context.Context) int {
	understood := false
	root := a.root(&understood)
	root.SetArgs(a.Args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	f, ok := errors.AsType[*failure](err)
	switch {
	case ok:
	case understood:
		f = &failure{status: failedStatus(cmd), err: err}
	default:
		f = &failure{status: exitUsage, err: err, hint: "belfry --help lists the verbs, belfry VERB --help their flags"}
	}
	a.tell(cmd, f)
	return f.status
}

// usage is the error of a command line that cannot be understood.
func usage(hint, format string, args ...any) error {
	return &failure{status: exitUsage, err: fmt.Errorf(format, args...), hint: hint}
}

// root builds the command tree. *understood turns true once a verb begins to
// run: an error before that is the command line's.
func (a *App) root(understood *bool) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "belfry",
		Short: "Run commands in the background, contained, and read what they say",
		Long: `belfry runs commands in the background for AI agents and for people. Each
command is the leader of a contained process tree; what the tree says is kept
in bounded memory, and whoever waits is told.

Exit status: 0 done; 1 the answer is no, or the verb failed; 100 the command
line was not understood.`,
		Args:              knownVerb,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			err := checkErrorFormat(cmd)
			*understood = err == nil
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				return a.printf("belfry %s\n", versionOf().Version)
			}
			return usage("belfry --help lists the verbs", "no verb was given; usage: belfry VERB [flags]")
		},
	}
	root.Flags().BoolVarP(&showVersion, "version", "V", false, "print the version")
	addErrorFormat(root)
	root.SetFlagErrorFunc(flagError)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	for _, v := range a.needed() {
		root.AddCommand(v.command())
	}
	root.SetHelpCommand(helpCommand())
	a.completeOptions(root)
	return root
}

// verb is one of the program's, and how its command is built.
type verb struct {
	name    string
	command func() *cobra.Command
	// all: it looks at the other verbs, too.
	all bool
}

func (a *App) verbs() []verb {
	return []verb{
		{name: "attest", command: a.attestCommand},
		{name: "cancel", command: a.cancelCommand},
		{name: "completion", command: a.completionCommand, all: true},
		{name: "daemon", command: a.daemonCommand},
		{name: "doctor", command: a.doctorCommand},
		{name: "events", command: a.eventsCommand},
		{name: "inspect", command: a.inspectCommand},
		{name: "jobs", command: a.jobsCommand},
		{name: "kill", command: a.killCommand},
		{name: "list", command: a.listCommand},
		{name: "logs", command: a.logsCommand},
		{name: "man", command: a.manCommand, all: true},
		{name: "mcp", command: a.mcpCommand},
		{name: "policy", command: a.policyCommand},
		{name: "probe", command: a.probeCommand, all: true},
		{name: "prune", command: a.pruneCommand},
		{name: "run", command: a.runCommand},
		{name: "stop", command: a.stopCommand},
		{name: "supervise", command: a.superviseCommand},
		{name: "version", command: a.versionCommand},
		{name: "wait", command: a.waitCommand},
	}
}

// needed are the verbs that this command line may have to do with: one alone where
// its first word names that, because belfry run is often over sooner than it takes
// to build the others.
func (a *App) needed() []verb {
	all := a.verbs()
	at := slices.IndexFunc(all, func(v verb) bool { return len(a.Args) > 0 && a.Args[0] == v.name && !v.all })
	if at < 0 {
		return all
	}
	return all[at : at+1]
}

// knownVerb is for commands that have verbs: a word that is none of them is an
// error, with the nearest one as its hint.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	for _, verb := range cmd.Commands() {
		if verb.Name() == args[0] {
			return usage(verb.CommandPath()+" --help tells what it takes", "%q stands behind --, where no verb is looked for", args[0])
		}
	}
	hint := cmd.CommandPath() + " --help lists the verbs"
	cmd.SuggestionsMinimumDistance = 2 // letters
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + cmd.CommandPath() + " " + near[0] + "?"
	}
	return usage(hint, "%s has no verb %q", cmd.CommandPath(), args[0])
}

// noArguments is for verbs that have options alone. A run's id is what people give
// them without one.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if cmd.Flags().Lookup("run-id") != nil && value.CheckRunID(args[0]) == nil {
		hint = cmd.CommandPath() + " --run-id " + args[0]
	}
	return usage(hint, "%s takes no argument, and %q is one", cmd.CommandPath(), args[0])
}

// helpCommand is cobra's, with an unknown topic made an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]...",
		Short: "Print the help of a verb",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage("belfry --help lists the verbs", "no help for %q", strings.Join(args, " "))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// printf writes data to stdout.
func (a *App) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, format, args...)
	return err
}
