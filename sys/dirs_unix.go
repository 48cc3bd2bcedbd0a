//go:build unix

package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

func runtimeDir(getenv func(string) string) (string, error) {
	uid := strconv.Itoa(os.Geteuid())
	if d := getenv("BELFRY_RUNTIME_DIR"); d != "" {
		return PrivateDir(d)
	}
	if d := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(d) {
		return PrivateDir(filepath.Join(d, "belfry"))
	}
	if login := "/run/user/" + uid; runtime.GOOS != "darwin" {
		if fi, err := os.Lstat(login); err == nil && fi.IsDir() {
			return PrivateDir(login + "/belfry")
		}
	}
	// Neither TMPDIR nor HOME: they differ between programs of one user, who
	// would then not find each other.
	return PrivateDir("/tmp/belfry-" + uid)
}

// holdPrivate creates dir when missing and refuses one that others control.
func holdPrivate(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create directory: %w", err)
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	unsafe := func(what string) error {
		return fmt.Errorf("directory %s: %s: %w", dir, what, ErrUnsafeDir)
	}
	switch {
	case !fi.IsDir():
		return unsafe("is not a directory")
	case !ok || int(st.Uid) != os.Geteuid():
		return unsafe("belongs to another user")
	case fi.Mode().Perm()&0o077 != 0:
		return unsafe(fmt.Sprintf("mode %04o lets others in (chmod 700 would close it)", fi.Mode().Perm()))
	}
	return nil
}

func checkKept(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	unsafe := func(what string) error {
		return fmt.Errorf("directory %s: %s: %w", dir, what, ErrUnsafeDir)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	switch {
	case !fi.IsDir():
		return unsafe("is not a directory")
	case !ok || int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return unsafe("belongs to another user")
	case fi.Mode().Perm()&0o002 != 0 && fi.Mode()&fs.ModeSticky == 0:
		return unsafe(fmt.Sprintf("mode %04o lets others change what is in it (chmod o-w would close it)", fi.Mode().Perm()))
	}
	return nil
}

func configDir(getenv func(string) string) (string, error) {
	return underHome(getenv, "Library/Application Support/belfry", ".config/belfry")
}

func stateDir(getenv func(string) string) (string, error) {
	return underHome(getenv, "Library/Application Support/belfry", ".local/state/belfry")
}

func underHome(getenv func(string) string, darwin, other string) (string, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("HOME is not set to an absolute path")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, darwin), nil
	}
	return filepath.Join(home, other), nil
}
