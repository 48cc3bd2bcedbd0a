package main

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/runner"
	"github.com/belfry-dev/belfry/runner/registry"
	"github.com/belfry-dev/belfry/runner/value"
	"github.com/belfry-dev/belfry/sys"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// runFlags are the options of the verb run.
type runFlags struct {
	jsonl, runID, cwd, schema                          *once
	labels, env, envFiles, envRemove                   *repeated
	envClear, runIDEnv                                 *once
	timeout, idle, grace, interval                     *once
	memory, processes, cpus, contain, weaker           *once
	capture, captureMax, overflow                      *once
	inherit, noEcho, inheritStdin, stdinFile, pty      *once
	detach, argvRaw, createNoWindow, gracefulCtrlBreak *once
}

func (a *App) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:                   "run [flags] -- PROGRAM [ARGS...]",
		DisableFlagsInUseLine: true,
		Short:                 "Run one command inside a contained process tree",
		Long: `Start a program without a shell, copy what it says, and end with its own exit
code. When the program ends, and when belfry itself is killed, everything that
it has started ends too.

Standard input is empty unless asked for otherwise. Ctrl-C, SIGTERM and SIGHUP
ask the tree to end and give it 5 s; the same again kills it at once.

Exit status: the program's own, 128+N when it died of signal N; or
  101 it could not be started       102 it could not be contained or limited
  104 a fault of belfry             106 --timeout or --idle-timeout
  107 ended by a signal             108 ended by belfry cancel
  109 ended by belfry kill          111 a file or folder is missing
  113 --capture-overflow cancel     100 the command line was not understood`,
		Example: `  belfry run --timeout 10m -- make -j4 test
  belfry run --jsonl run.jsonl --capture-dir logs --max-memory 2g -- ./job.sh`,
		Args: programAfterDashes,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options(args)
			if err != nil {
				return err
			}
			a.complete(&o)
			if f.detach.given {
				return a.runDetached(cmd.Context(), o)
			}
			return a.ended(runner.Run(cmd.Context(), o))
		},
	}
	cmd.Flags().SetInterspersed(false)
	f.add(cmd)
	return cmd
}

// programAfterDashes wants "--" and at least one word behind it.
func programAfterDashes(cmd *cobra.Command, args []string) error {
	const hint = "belfry run [flags] -- PROGRAM [ARGS...]"
	switch at := cmd.ArgsLenAtDash(); {
	case at < 0 && len(args) > 0:
		return usage(hint, "the program %q does not follow --", args[0])
	case at > 0:
		return usage(hint, "%q stands before --", args[0])
	case len(args) == 0:
		return usage(hint, "no program was given")
	}
	return nil
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.jsonl = option(cmd, "jsonl", "FILE", "write the stream of events, made or truncated")
	f.schema = option(cmd, "schema", "N", "version of the events: 1, or 2 which tells more (1)")
	f.runID = option(cmd, "run-id", "ID", "name of the run (run-PID-NANOSECONDS)")
	f.labels = repeatable(cmd, "label", "KEY=VALUE", "shown beside the run; the last of a key counts")
	f.cwd = option(cmd, "cwd", "DIR", "working directory of the program")
	f.timeout = option(cmd, "timeout", "DURATION", "end the run after so long: 500ms, 30, 5m, 2h")
	f.idle = option(cmd, "idle-timeout", "DURATION", "end the run after so long without output")
	f.grace = option(cmd, "grace", "DURATION", "between soft stop and hard kill (none; 5s after a signal)")
	f.interval = option(cmd, "snapshot-interval", "DURATION", "list the members in the stream so often")
	f.memory = option(cmd, "max-memory", "SIZE", "most memory of the whole tree: 64k, 512m, 2g")
	f.processes = option(cmd, "max-processes", "N", "most tasks of the whole tree at once")
	f.cpus = option(cmd, "cpu-quota", "CORES", "most processor time per time: 0.5, 2")
	f.contain = option(cmd, "contain", "LEVEL", "least containment that will do: strict, tree, group")
	f.weaker = switchOption(cmd, "allow-weaker", "run although --contain cannot be had")
	f.capture = option(cmd, "capture-dir", "DIR", "write stdout.log and stderr.log there")
	f.captureMax = option(cmd, "capture-max-bytes", "SIZE", "most bytes of each (8m)")
	f.overflow = option(cmd, "capture-overflow", "truncate|cancel", "what happens to more (truncate)")
	f.inherit = switchOption(cmd, "inherit-stdio", "give the program our own input, output and terminal")
	f.noEcho = switchOption(cmd, "no-echo", "do not copy the output to ours")
	f.inheritStdin = switchOption(cmd, "inherit-stdin", "give the program our own input")
	f.stdinFile = option(cmd, "stdin-file", "FILE", "give the program the content of a file as its input")
	f.pty = switchOption(cmd, "pty", "give the program a terminal of its own (Unix)")
	f.detach = switchOption(cmd, "detach", "return once the program runs, and leave it running")
	f.argvRaw = switchOption(cmd, "argv-raw", "tell the arguments in the stream")
	f.envClear = switchOption(cmd, "env-clear", "begin with an empty environment")
	f.envRemove = repeatable(cmd, "env-remove", "KEY", "leave a variable out")
	f.envFiles = repeatable(cmd, "env-file", "FILE", "set variables from lines of KEY=VALUE")
	f.env = repeatable(cmd, "env", "KEY=VALUE", "set a variable")
	f.runIDEnv = option(cmd, "run-id-env", "KEY", "set a variable to the run id")
	f.createNoWindow = switchOption(cmd, "create-no-window", "Windows: no console window for the program")
	f.gracefulCtrlBreak = switchOption(cmd, "windows-graceful-ctrl-break", "Windows: the soft stop is CTRL_BREAK, as it is without this")
}

// options reads the values. Environment and streams are not among them.
func (f *runFlags) options(argv []string) (runner.Options, error) {
	o := runner.Options{
		Argv: argv, Dir: f.cwd.text, JSONL: f.jsonl.text, RunID: f.runID.text, ArgvRaw: f.argvRaw.given,
		CaptureDir: f.capture.text, NoEcho: f.noEcho.given, Inherit: f.inherit.given, PTY: f.pty.given,
		InFile: f.stdinFile.text, AllowWeaker: f.weaker.given,
		Env: runner.Environment{Clear: f.envClear.given, Remove: f.envRemove.texts, Files: f.envFiles.texts, IDKey: f.runIDEnv.text},
	}
	var grace time.Duration
	var processes uint32
	err := errors.Join(
		f.conflicts(),
		readOption(f.runID, "run-id", func(s string) (string, error) { return s, value.CheckRunID(s) }, &o.RunID),
		readOption(f.schema, "schema", schemaVersion, &o.Schema),
		readOption(f.timeout, "timeout", value.PositiveDuration, &o.Timeout),
		readOption(f.idle, "idle-timeout", value.PositiveDuration, &o.IdleTimeout),
		readOption(f.interval, "snapshot-interval", value.PositiveDuration, &o.SnapshotInterval),
		readOption(f.grace, "grace", value.Duration, &grace),
		readOption(f.memory, "max-memory", value.Size, &o.Limits.MemoryBytes),
		readOption(f.processes, "max-processes", value.Count, &processes),
		readOption(f.cpus, "cpu-quota", value.CPUs, &o.Limits.CPUs),
		readOption(f.captureMax, "capture-max-bytes", value.Size, &o.CaptureMax),
		readOption(f.overflow, "capture-overflow", overflowPolicy, &o.CaptureCancel),
		readOption(f.contain, "contain", containLevel, &o.Contain),
		readOption(f.jsonl, "jsonl", nonEmpty, &o.JSONL),
		readOption(f.cwd, "cwd", nonEmpty, &o.Dir),
		readOption(f.capture, "capture-dir", nonEmpty, &o.CaptureDir),
		readOption(f.stdinFile, "stdin-file", nonEmpty, &o.InFile),
		readOption(f.runIDEnv, "run-id-env", envKey, &o.Env.IDKey),
	)
	if err != nil {
		return o, firstError(err)
	}
	if f.grace.given {
		o.Grace = &grace
	}
	o.Limits.Tasks = int(processes)
	switch {
	case f.stdinFile.given:
		o.Input = runner.InputFile
	case f.inheritStdin.given:
		o.Input = runner.InputInherit
	}
	return o, f.lists(&o)
}

// lists reads the options that may be repeated.
func (f *runFlags) lists(o *runner.Options) error {
	o.Labels = map[string]string{}
	for _, text := range f.labels.texts {
		k, v, err := value.Label(text)
		if err != nil {
			return usage("", "--label: %w", err)
		}
		o.Labels[k] = v
	}
	for _, path := range f.envFiles.texts {
		if _, err := nonEmpty(path); err != nil {
			return usage("", "--env-file: %w", err)
		}
	}
	for _, k := range f.envRemove.texts {
		if _, err := envKey(k); err != nil {
			return usage("", "--env-remove: %w", err)
		}
	}
	for _, text := range f.env.texts {
		v, err := value.Env(text)
		if err != nil {
			return usage("", "--env: %w", err)
		}
		if f.runIDEnv.given && (v.Key == f.runIDEnv.text || runtime.GOOS == "windows" && strings.EqualFold(v.Key, f.runIDEnv.text)) {
			return usage("", "--run-id-env and --env both set %s", v.Key)
		}
		o.Env.Set = append(o.Env.Set, v)
	}
	return nil
}

func schemaVersion(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n != runner.SchemaVersion && n != runner.SchemaDetailed {
		return 0, errors.New("the versions are 1 and 2")
	}
	return n, nil
}

func envKey(s string) (string, error) { return s, value.CheckEnvKey(s) }

func nonEmpty(s string) (string, error) {
	if s == "" {
		return "", errors.New("the path is empty")
	}
	return s, nil
}

func overflowPolicy(s string) (bool, error) {
	switch s {
	case "truncate":
		return false, nil
	case "cancel":
		return true, nil
	}
	return false, errors.New("it is truncate or cancel")
}

func containLevel(s string) (sys.Level, error) {
	switch s {
	case "strict":
		return sys.LevelStrict, nil
	case "tree":
		return sys.LevelTree, nil
	case "group":
		return sys.LevelGroup, nil
	}
	return 0, errors.New("it is strict, tree or group")
}

// firstError is the first of joined errors: one line is told, not all.
func firstError(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()[0]
	}
	return err
}

// conflicts refuses options that exclude or need each other.
func (f *runFlags) conflicts() error {
	given := map[string]bool{
		"inherit-stdio": f.inherit.given, "idle-timeout": f.idle.given, "capture-dir": f.capture.given,
		"create-no-window": f.createNoWindow.given, "inherit-stdin": f.inheritStdin.given,
		"stdin-file": f.stdinFile.given, "no-echo": f.noEcho.given, "detach": f.detach.given, "pty": f.pty.given,
		"windows-graceful-ctrl-break": f.gracefulCtrlBreak.given,
		"capture-max-bytes":           f.captureMax.given, "capture-overflow": f.overflow.given,
	}
	for _, set := range excluding {
		for _, other := range set[1:] {
			if given[set[0]] && given[other] {
				return usage("", "--%s and --%s exclude each other", set[0], other)
			}
		}
	}
	for _, name := range []string{"capture-max-bytes", "capture-overflow"} {
		if given[name] && !given["capture-dir"] {
			return usage("", "--%s needs --capture-dir", name)
		}
	}
	return nil
}

// excluding has, per line, an option and those that it excludes.
var excluding = [][]string{
	{"inherit-stdio", "idle-timeout", "capture-dir", "create-no-window", "inherit-stdin", "stdin-file", "no-echo", "detach", "pty"},
	{"inherit-stdin", "stdin-file", "detach"},
	{"windows-graceful-ctrl-break", "create-no-window", "detach"},
}

// complete adds what comes from the process itself.
func (a *App) complete(o *runner.Options) {
	o.Stdin, _ = a.Stdin.(*os.File)
	if o.Stdin != nil && term.IsTerminal(int(o.Stdin.Fd())) {
		o.RawInput = func() (func() error, error) {
			was, err := term.MakeRaw(int(o.Stdin.Fd()))
			return func() error { return term.Restore(int(o.Stdin.Fd()), was) }, err
		}
	}
	o.Stdout, o.Stderr = a.Stdout, a.Stderr
	o.Env.Base = slices.Clone(os.Environ())
	o.Env.PathExt = a.Env("PATHEXT")
	o.Records, _ = a.recordsDir() // Best effort: it runs without, as contained as before.
	o.Release = versionOf().Version
	o.Warn = func(text string) { a.logf("warning: %s", text) }
	if dir, err := registry.Dir(a.Env); err != nil {
		o.Warn("the run is not listed: " + err.Error())
	} else {
		o.Registry = registry.Open(dir)
	}
}

// ended turns how a run ended into how this process does.
func (a *App) ended(e runner.Ending) error {
	if e.Source == runner.SourceChild {
		if e.Code == 0 {
			return nil
		}
		return &failure{status: e.Code}
	}
	return &failure{status: e.Code, runID: e.RunID, err: errors.New(e.Message)}
}
