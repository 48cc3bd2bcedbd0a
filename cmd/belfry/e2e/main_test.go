package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// guard bounds every wait of these tests. It is no measure of speed: it ends a
// test that would hang.
const guard = 90 * time.Second

// shared is a folder that any user may enter, with the programs in it.
var shared string

// helperExe is this test binary, where any user may run it.
var helperExe string

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helperVerb {
		os.Exit(help(os.Args[2], os.Args[3:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if shared, err = os.MkdirTemp("", "belfry-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(shared)
	// Before anything is started: a program that is being written while
	// another thread forks cannot be run for a while.
	if err := install(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func install() error {
	if err := os.Chmod(shared, 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	helperExe = filepath.Join(shared, "helper"+filepath.Ext(self))
	if err := copyProgram(helperExe, self); err != nil {
		return err
	}
	return copyProgram(leasedExe(), self)
}

// leasedExe is a copy of the helper that no test runs but the one that makes
// opening it slow.
func leasedExe() string { return filepath.Join(shared, "leased"+filepath.Ext(helperExe)) }

func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

var binary struct {
	once sync.Once
	path string
	err  error
}

// belfryExe is the binary under test.
func belfryExe(t testing.TB) string {
	t.Helper()
	binary.once.Do(func() {
		if binary.path = os.Getenv("BELFRY_E2E_BINARY"); binary.path != "" {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		binary.path, binary.err = Build(ctx, filepath.Join("..", "..", ".."), shared, raceEnabled)
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	return binary.path
}
