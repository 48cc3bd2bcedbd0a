package clienttest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed scripts/*.mjs
var scripts embed.FS

// runScript runs a script with arguments; every check that it tells becomes a
// subtest.
func runScript(t *testing.T, k kit, name string, args ...string) {
	// A module finds packages beside itself or in a folder above.
	dir := t.TempDir()
	entries, err := scripts.ReadDir("scripts")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := scripts.ReadFile("scripts/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(k.modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.node, append([]string{filepath.Join(dir, name)}, args...)...)
	var said, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &faults
	err = cmd.Run()

	checks, done := 0, false
	for line := range bytes.Lines(said.Bytes()) {
		var l struct {
			Check, Failure string
			Done           bool
		}
		if json.Unmarshal(line, &l) != nil {
			t.Errorf("the script said %q", line)
			continue
		}
		if done = l.Done; done {
			continue
		}
		checks++
		t.Run(l.Check, func(t *testing.T) {
			if l.Failure != "" {
				t.Error(l.Failure)
			}
		})
	}
	if err != nil || !done || checks == 0 {
		t.Errorf("the script ended before its end, after %d checks: %v\n%s", checks, err, faults.Bytes())
	}
}

func TestTypeScriptSDK1(t *testing.T) {
	k := clients(t)
	for _, mode := range []string{"plain", "tasks"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			runScript(t, k, "sdk1.mjs", k.server, mode)
		})
	}
}

func TestTypeScriptSDK2(t *testing.T) {
	k := clients(t)
	for _, mode := range []string{"legacy", "auto", "modern"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			runScript(t, k, "sdk2.mjs", k.server, mode)
		})
	}
	t.Run("tasks", func(t *testing.T) {
		t.Parallel()
		runScript(t, k, "sdk2tasks.mjs", k.server)
	})
}

func TestExtTasks(t *testing.T) {
	k := clients(t)
	t.Run("jobs", func(t *testing.T) {
		t.Parallel()
		runScript(t, k, "exttasks.mjs", k.server, "jobs")
	})
	t.Run("fixtures", func(t *testing.T) {
		t.Parallel()
		runScript(t, k, "exttasks.mjs", k.fixtures, "fixtures")
	})
}
