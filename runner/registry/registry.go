package registry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/belfry-dev/belfry/sys"
)

// Registry is one directory of records. Its methods may be used at once by any
// number of processes.
type Registry struct {
	dir    string
	prefix string // of the names of its files
}

// Open names a registry of runs; nothing is touched. A directory that is not
// there is an empty registry for readers, and made by Prepare for those who
// publish.
func Open(dir string) *Registry { return &Registry{dir, "run"} }

// OpenServers is Open for the records of servers, which have the form of those
// of runs.
func OpenServers(dir string) *Registry { return &Registry{dir, "server"} }

// Dir is the absolute path of the directory.
func (r *Registry) Dir() string { return r.dir }

// Dir finds the registry of this user: $BELFRY_REGISTRY_DIR, else runs below
// $BELFRY_RUNTIME_DIR, else below $XDG_RUNTIME_DIR/belfry, else below
// $HOME/.local/state/belfry; on Windows below %LOCALAPPDATA%\belfry, else below
// that folder of %USERPROFILE%. Nothing is made.
func Dir(getenv func(string) string) (string, error) {
	if d := getenv("BELFRY_REGISTRY_DIR"); d != "" {
		abs, err := filepath.Abs(d)
		if err != nil {
			return "", fmt.Errorf("registry directory %s: %w", d, err)
		}
		return abs, nil
	}
	if d := getenv("BELFRY_RUNTIME_DIR"); d != "" {
		if !filepath.IsAbs(d) {
			return "", fmt.Errorf("registry below BELFRY_RUNTIME_DIR %s: not an absolute path", d)
		}
		return filepath.Join(d, "runs"), nil
	}
	if runtime.GOOS == "windows" {
		if d := getenv("LOCALAPPDATA"); filepath.IsAbs(d) {
			return filepath.Join(d, "belfry", "runs"), nil
		}
		if d := getenv("USERPROFILE"); filepath.IsAbs(d) {
			return filepath.Join(d, "AppData", "Local", "belfry", "runs"), nil
		}
		return "", errors.New("find registry: neither LOCALAPPDATA nor USERPROFILE is an absolute path; set BELFRY_REGISTRY_DIR")
	}
	if d := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(d) {
		return filepath.Join(d, "belfry", "runs"), nil
	}
	if d := getenv("HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, ".local", "state", "belfry", "runs"), nil
	}
	return "", errors.New("find registry: neither XDG_RUNTIME_DIR nor HOME is an absolute path; set BELFRY_REGISTRY_DIR")
}

// ServersDir finds the records of this user's servers: servers beside the runs,
// or in $BELFRY_REGISTRY_DIR where that names the runs' own folder. Nothing is
// made.
func ServersDir(getenv func(string) string) (string, error) {
	runs, err := Dir(getenv)
	switch {
	case err != nil:
		return "", err
	case getenv("BELFRY_REGISTRY_DIR") != "":
		return filepath.Join(runs, "servers"), nil
	}
	return filepath.Join(filepath.Dir(runs), "servers"), nil
}

// Prepare makes the directory and makes sure that it is the owner's alone. Only
// what publishes or qualifies calls it; readers never make a registry.
func (r *Registry) Prepare() error {
	if err := os.MkdirAll(filepath.Dir(r.dir), 0o700); err != nil {
		return fmt.Errorf("create registry: %w", err)
	}
	if err := sys.OwnDir(r.dir); err != nil {
		return fmt.Errorf("create registry: %w", err)
	}
	return nil
}
