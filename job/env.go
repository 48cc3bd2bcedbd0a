package job

import (
	"slices"
	"strings"
)

// Env is the environment of a job: Vars on top of a minimal base (PATH and
// HOME of the store), or, with Replace, Vars alone. Nothing else of the
// server's environment ever reaches a job.
type Env struct {
	Replace bool
	Vars    map[string]string
}

// DefaultPath is the PATH of a store whose own environment has none.
const DefaultPath = "/usr/bin:/bin"

// Base is the part of the server's environment that jobs start from.
type Base struct {
	Path    string   // "" means DefaultPath
	Home    string   // "" means none
	System  []string // KEY=value that this system cannot do without (SystemRoot on Windows)
	ComSpec string   // command interpreter of Windows
	PathExt string   // executable suffixes of Windows
}

func (b Base) path() string {
	if b.Path == "" {
		return DefaultPath
	}
	return b.Path
}

// build gives the environment as KEY=value, sorted, and the PATH in it.
func (e Env) build(b Base) (list []string, path string, hasPath bool) {
	m := map[string]string{}
	for _, kv := range b.System {
		if k, v, ok := strings.Cut(kv, "="); ok {
			m[k] = v
		}
	}
	if !e.Replace {
		m["PATH"] = b.path()
		if b.Home != "" {
			m["HOME"] = b.Home
		}
	}
	for k, v := range e.Vars {
		m[k] = v
	}
	list = make([]string, 0, len(m))
	for k, v := range m {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	path, hasPath = m["PATH"]
	return list, path, hasPath
}

// nul names the first place where a NUL byte would cut a string short.
func nul(argv, env []string, dir string) (string, bool) {
	for _, a := range argv {
		if strings.IndexByte(a, 0) >= 0 {
			return "an argument", true
		}
	}
	for _, kv := range env {
		if strings.IndexByte(kv, 0) >= 0 {
			k, _, _ := strings.Cut(strings.ReplaceAll(kv, "\x00", "?"), "=")
			return "the environment variable " + k, true
		}
	}
	if strings.IndexByte(dir, 0) >= 0 {
		return "the working directory", true
	}
	return "", false
}
