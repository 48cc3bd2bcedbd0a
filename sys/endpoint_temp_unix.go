//go:build unix

package sys

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	tempPrefix = "belfry-"
	tempSocket = "c.sock"
)

func listenTemp() (*Endpoint, error) {
	dir, err := tempDir()
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	name := filepath.Join(dir, tempSocket)
	l, err := listenEndpoint(name)
	if err != nil {
		// Best effort: it is empty.
		os.Remove(dir)
		return nil, err
	}
	l.(*unixListener).dir = dir
	return &Endpoint{name: name, l: l}, nil
}

// tempDirs are where a directory for a socket may lie: /tmp, because a path
// below it is short, else what TMPDIR says.
func tempDirs() []string {
	if d := filepath.Clean(os.TempDir()); d != "/tmp" && filepath.IsAbs(d) {
		return []string{"/tmp", d}
	}
	return []string{"/tmp"}
}

// tempDir makes a directory of the owner's alone with a name nobody can guess.
func tempDir() (string, error) {
	var failed error
	for _, base := range tempDirs() {
		var random [12]byte
		rand.Read(random[:])
		dir := fmt.Sprintf("%s/%s%d-%s-%s", base, tempPrefix, os.Getpid(),
			hex.EncodeToString(random[:6]), hex.EncodeToString(random[6:]))
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			// The umask may have taken the owner's own bits.
			err = os.Chmod(dir, 0o700)
		}
		if err == nil {
			return dir, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

func isTempEndpoint(name string) bool {
	if !filepath.IsAbs(name) || filepath.Clean(name) != name || filepath.Base(name) != tempSocket {
		return false
	}
	parent, dir := filepath.Split(filepath.Dir(name))
	token, ok := strings.CutPrefix(dir, tempPrefix)
	if !ok || token == "" || strings.Trim(token, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
		return false
	}
	for _, base := range tempDirs() {
		if filepath.Clean(parent) == base {
			return true
		}
	}
	return false
}

func tempEndpointDir(name string) string { return filepath.Dir(name) }

func removeTempEndpoint(name string) error {
	if !isTempEndpoint(name) {
		return fmt.Errorf("remove endpoint: %q has not the form of one", name)
	}
	path := filepath.Dir(name)
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("remove endpoint: %w", err)
	case !fi.IsDir():
		return fmt.Errorf("remove endpoint: %s is not a directory", path)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("remove endpoint: %s belongs to another user", path)
	}
	// Within the directory that was looked at, whatever becomes of its name.
	root, err := os.OpenRoot(path)
	if err != nil {
		return fmt.Errorf("remove endpoint: %w", err)
	}
	defer root.Close()
	if opened, err := root.Stat("."); err != nil || !os.SameFile(fi, opened) {
		return fmt.Errorf("remove endpoint: %s was replaced", path)
	}
	names, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("remove endpoint: %w", err)
	}
	for _, d := range names {
		if d.Type()&fs.ModeSocket == 0 {
			continue
		}
		if err := root.Remove(d.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove endpoint: %w", err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove endpoint: %w", err)
	}
	return nil
}
