package sys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// RuntimeDir is the directory of sockets, locks and records that do not
// outlive the login: $BELFRY_RUNTIME_DIR, else $XDG_RUNTIME_DIR/belfry, else
// /run/user/UID/belfry, else /tmp/belfry-UID; on Windows below %LOCALAPPDATA%.
// It is created when missing. A directory that is a symbolic link, belongs to
// somebody else or is open to others is refused by name.
func RuntimeDir(getenv func(string) string) (string, error) { return runtimeDir(getenv) }

// ConfigDir is where the user's settings are: $XDG_CONFIG_HOME/belfry, else
// belfry in the system's user configuration folder. It is not created.
func ConfigDir(getenv func(string) string) (string, error) {
	if d := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "belfry"), nil
	}
	return configDir(getenv)
}

// StateDir is where what must last is kept: $BELFRY_STATE_DIR, else
// $XDG_STATE_HOME/belfry, else the system's place. It is not created.
func StateDir(getenv func(string) string) (string, error) {
	if d := getenv("BELFRY_STATE_DIR"); d != "" {
		if !filepath.IsAbs(d) {
			return "", fmt.Errorf("state directory %s: not an absolute path", d)
		}
		return d, nil
	}
	if d := getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "belfry"), nil
	}
	return stateDir(getenv)
}

// OwnDir makes dir, whose parent is there, and makes sure that nobody else may
// enter it: mode 0700, or on Windows a protected descriptor of the owner and
// the system alone. One that is open to others is closed; one that belongs to
// another user is refused.
func OwnDir(dir string) error { return ownDir(dir) }

// ErrUnsafeDir: a directory that should be this user's alone is somebody
// else's, open to others, or none.
var ErrUnsafeDir = errors.New("unsafe directory")

// CheckKept makes sure that nobody else can take away or replace what is in a
// directory: it belongs to this user or to root, and not everybody may write to it,
// unless it is one like /tmp in which each has what is his. ErrUnsafeDir else.
// A symbolic link is followed. On Windows, where it is the descriptor of what is
// in it that counts, every directory will do.
func CheckKept(dir string) error { return checkKept(dir) }

// PrivateDir makes sure that dir, an absolute path, is a directory of this
// user's alone. It is created when missing, with the directories above it. One
// that is a symbolic link, belongs to somebody else or is open to others is
// refused with ErrUnsafeDir; nothing about it is changed.
func PrivateDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("directory %s: not an absolute path", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", fmt.Errorf("create directory: %w", err)
	}
	if err := holdPrivate(dir); err != nil {
		return "", err
	}
	return dir, nil
}
