package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestRunnerGate compares belfry run with what it stands in front of, in turns.
func TestRunnerGate(t *testing.T) {
	gated(t)
	measured(t)
	b := build(t)
	t.Run("overhead", func(t *testing.T) { overheadGate(t, b) })
	t.Run("pour", func(t *testing.T) { pipeGate(t, b) })
}

// overheadGate: a run that does nothing, next to the start and end of the least
// that a Go program can be.
func overheadGate(t *testing.T, b belfry) {
	const rounds = 100
	hello, belfry := installed(t, buildHello(t)), installed(t, string(b))
	env := runEnv(t)
	most := 7.0 // a run is several processes, each of which waits where others work
	if undisturbed(t) {
		most = 5
	}
	compare(t, "belfry run -- /bin/true next to a static Go program", most, func() (ours, bare figures) {
		for range rounds {
			bare = append(bare, timed(t, exec.Command(hello)))
			cmd := exec.Command(belfry, "run", "--", "/bin/true")
			cmd.Env = env
			ours = append(ours, timed(t, cmd))
		}
		return ours, bare
	})
}

// pipeGate: what a program says, through belfry run and through cat.
func pipeGate(t *testing.T, b belfry) {
	const size, rounds = 1 << 30, 8
	file := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil { // a hole: no disk is read
		t.Fatal(err)
	}
	env := runEnv(t)
	compare(t, "1 GiB through belfry run next to cat", 1/0.7, func() (ours, bare figures) {
		for range rounds {
			bare = append(bare, timed(t, exec.Command("sh", "-c", `cat "$0" | cat`, file)))
			cmd := exec.Command(string(b), "run", "--", "cat", file)
			cmd.Env = env
			ours = append(ours, timed(t, cmd))
		}
		return ours, bare
	})
}

// installed is a copy of a program, as an installer makes it: what the linker has
// written here and there the kernel maps page by page, which each start pays for.
func installed(t *testing.T, exe string) string {
	t.Helper()
	all, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(exe))
	if err := os.WriteFile(path, all, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// timed runs a command whose output goes to the null device.
func timed(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = null, null, os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return time.Since(begin)
}

// runEnv has the runner keep its files where a login session has it keep them: in
// memory, if this machine offers that.
func runEnv(t *testing.T) []string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "belfry-bench-")
	if err != nil {
		t.Logf("no files in memory: %v", err)
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "BELFRY_RUNTIME_DIR=", "BELFRY_REGISTRY_DIR=")
}

func buildHello(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"hello, world\\n\") }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "hello")
	cmd := exec.CommandContext(bound(t), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", exe, filepath.Join(dir, "main.go"))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the static program: %v\n%s", err, out)
	}
	return exe
}
