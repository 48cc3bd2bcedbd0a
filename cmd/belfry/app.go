package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

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
	root.AddCommand(
		a.attestCommand(),
		a.cancelCommand(),
		a.completionCommand(),
		a.daemonCommand(),
		a.doctorCommand(),
		a.eventsCommand(),
		a.inspectCommand(),
		a.jobsCommand(),
		a.killCommand(),
		a.listCommand(),
		a.logsCommand(),
		a.manCommand(),
		a.mcpCommand(),
		a.policyCommand(),
		a.probeCommand(),
		a.pruneCommand(),
		a.runCommand(),
		a.stopCommand(),
		a.superviseCommand(),
		a.versionCommand(),
		a.waitCommand(),
	)
	root.SetHelpCommand(helpCommand())
	a.completeOptions(root)
	return root
}

// knownVerb is for commands that have verbs: a word that is none of them is an
// error, with the nearest one as its hint.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help lists the verbs"
	cmd.SuggestionsMinimumDistance = 2 // letters
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + cmd.CommandPath() + " " + near[0] + "?"
	}
	return usage(hint, "%s has no verb %q", cmd.CommandPath(), args[0])
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
