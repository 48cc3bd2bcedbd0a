package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/daemon"
	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/server/hostwake"
	"github.com/belfry-dev/belfry/sys"
)

// defaultScope is shared by all agents of a user.
const defaultScope = "user"

const defaultIdle = 10 * time.Minute

// daemonConfig describes the shared daemon of a scope, as this binary knows it.
func (a *App) daemonConfig(scope string) (daemon.Config, error) {
	dir, err := sys.RuntimeDir(a.Env)
	if err != nil {
		return daemon.Config{}, fmt.Errorf("%w: %w", daemon.ErrUnavailable, err)
	}
	binary := a.Env("BELFRY_DAEMON_BINARY")
	if binary == "" {
		if binary, err = os.Executable(); err != nil {
			return daemon.Config{}, fmt.Errorf("find this program: %w", err)
		}
	}
	c := daemon.Config{
		Name: "belfry", DataDir: filepath.Join(dir, scopeName(scope)), Transport: daemon.Socket,
		Binary: binary, Args: []string{"daemon", "serve", "--scope", scope}, Dir: rootOf(dir), Env: daemonEnv(os.Environ()),
		Version: versionOf().Version, Capabilities: []string{"mcp", "detach"}, Requires: []string{"mcp"},
		IdleTimeout: defaultIdle,
	}
	if d := a.milliseconds("BELFRY_IDLE_TIMEOUT_MS"); d != nil {
		c.IdleTimeout = *d
	}
	if d := a.milliseconds("BELFRY_DRAIN_TIMEOUT_MS"); d != nil {
		c.ShutdownTimeout = max(*d, time.Nanosecond) // 0 is at once, and not the default
	}
	return c, nil
}

// scopeName is short, because the path of a socket is bounded, and another for
// each user, because the directory may be one for all.
func scopeName(scope string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(os.Geteuid()) + "\x00" + scope))
	return hex.EncodeToString(sum[:4])
}

// rootOf is a directory that no caller's removal takes away.
func rootOf(path string) string { return filepath.VolumeName(path) + string(filepath.Separator) }

// passedOn are the variables of its starter that the daemon keeps. Nothing of
// them reaches a job: that has its client's.
var passedOn = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "LOCALAPPDATA", "APPDATA", "USERPROFILE", "TEMP", "TMP"}

func daemonEnv(env []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		upper := strings.ToUpper(name)
		keep := strings.HasPrefix(upper, "BELFRY_") || strings.HasPrefix(upper, "LC_") || strings.HasPrefix(upper, "XDG_")
		for _, p := range passedOn {
			keep = keep || upper == p
		}
		if keep {
			out = append(out, kv)
		}
	}
	return out
}

// surroundings are what of a client counts for its jobs. They travel with its
// connection.
type surroundings struct {
	Client string         `json:"client"`
	Dir    string         `json:"dir"`
	Umask  *int           `json:"umask,omitempty"`
	Base   job.Base       `json:"base"`
	Roots  []string       `json:"roots"`
	Policy job.PolicyFile `json:"policy"`
	Wake   messaging      `json:"wake,omitzero"`
	Detach bool           `json:"detach,omitempty"` // every job
}

// messaging is the door to the program that hosts a client's agent. It travels
// only on the user's own socket.
type messaging struct {
	Socket string `json:"socket,omitempty"`
	Token  string `json:"token,omitempty"`
}

func (a *App) surroundings(policy job.PolicyFile) surroundings {
	config := a.jobConfig(policy)
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // it was deleted: only jobs that ask for an absolute one can run
	}
	s := surroundings{Dir: dir, Base: config.Base, Roots: config.Roots, Policy: config.Policy, Wake: a.messaging()}
	if mask, ok := sys.Umask(); ok {
		s.Umask = &mask
	}
	return s
}

func (s surroundings) hosts() []hostwake.Transport {
	if s.Wake == (messaging{}) {
		return nil
	}
	return []hostwake.Transport{hostwake.NewMessaging(s.Wake.Socket, s.Wake.Token)}
}

func (s surroundings) origin(client string) *job.Origin {
	return &job.Origin{Client: client, Dir: s.Dir, Umask: s.Umask, Base: s.Base, Roots: s.Roots, Policy: s.Policy}
}
