package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Build builds the binary under test, as root/cmd/belfry stands, into dir and
// gives its path. root is the folder of the module. It is built as it is shipped,
// but for the race detector where that is asked for.
//
// go test does not see what a go command reads behind its back, and would
// answer from its cache after a change. So Build looks at every source of the
// module first; call it from within a test, where that counts.
func Build(ctx context.Context, root, dir string, race bool) (string, error) {
	if err := see(root); err != nil {
		return "", err
	}
	exe := filepath.Join(dir, "belfry")
	if runtime.GOOS == "windows" {
		exe += ".exe"
	}
	args, cgo := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", exe}, "CGO_ENABLED=0"
	if race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/belfry")...)
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary under test: %w\n%s", err, out)
	}
	return exe, nil
}

func see(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "build" || d.Name() == "dist"):
			return fs.SkipDir
		case d.IsDir(), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".mod", ".sum", ".md":
			_, err = os.Stat(path)
		}
		return err
	})
}
