package sys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/belfry-dev/belfry/windows"
)

func runtimeDir(getenv func(string) string) (string, error) {
	dir := getenv("BELFRY_RUNTIME_DIR")
	if dir == "" {
		local := getenv("LOCALAPPDATA")
		if !filepath.IsAbs(local) {
			return "", errors.New("LOCALAPPDATA is not set to an absolute path")
		}
		dir = filepath.Join(local, "belfry", "run")
	}
	return PrivateDir(dir)
}

// holdPrivate creates dir when missing and refuses one that others control.
func holdPrivate(dir string) error {
	if err := windows.MakePrivateDir(dir); err != nil {
		return fmt.Errorf("directory %s: %w: %w", dir, ErrUnsafeDir, err)
	}
	return nil
}

func checkKept(dir string) error {
	fi, err := os.Stat(dir)
	if err == nil && !fi.IsDir() {
		err = ErrUnsafeDir
	}
	if err != nil {
		return fmt.Errorf("check directory %s: %w", dir, err)
	}
	return nil
}

func configDir(getenv func(string) string) (string, error) {
	return below(getenv, "APPDATA", "belfry")
}

func stateDir(getenv func(string) string) (string, error) {
	return below(getenv, "LOCALAPPDATA", `belfry\state`)
}

func below(getenv func(string) string, variable, name string) (string, error) {
	dir := getenv(variable)
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s is not set to an absolute path", variable)
	}
	return filepath.Join(dir, name), nil
}
