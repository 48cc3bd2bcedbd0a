package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/belfry-dev/belfry/sys"
	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is belfry itself when it is started under that name.
func TestMain(m *testing.M) {
	sys.Init()
	testscript.Main(m, map[string]func(){"belfry": main})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("BELFRY_POLICY_FILE", "")
			env.Setenv("BELFRY_RUNTIME_DIR", filepath.Join(env.WorkDir, "run"))
			env.Setenv("BELFRY_STATE_DIR", filepath.Join(env.WorkDir, "state"))
			env.Setenv("BELFRY_IDLE_TIMEOUT_MS", "20000") // of a daemon that a failed script leaves
			// The program that a script calls belfry is the test binary only by
			// that name, and a daemon is started by its path.
			bin := filepath.SplitList(env.Getenv("PATH"))[0]
			env.Setenv("BELFRY_DAEMON_BINARY", filepath.Join(bin, "belfry"+env.Getenv("exe")))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "until": until},
	})
}

// exits is a script command: exits STATUS PROGRAM ARG... runs a program that
// must end with that status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	status := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	if status != want {
		ts.Fatalf("%v ended with status %d, want %d", args[1:], status, want)
	}
}

// until is a script command: until PATTERN PROGRAM ARG... runs a program again
// and again until a line of its standard output matches, which is then stdout.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM ARG...")
	}
	want := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%v never prints %s", args[1:], args[0])
		}
	}
}
