package runner

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/belfry-dev/belfry/runner/value"
	"github.com/belfry-dev/belfry/sys"
)

// list makes the child's environment. An entry of a later source takes the
// place of an earlier one.
func (e *Environment) list(runID string) ([]string, error) {
	var env []string
	if !e.Clear {
		env = append(env, e.Base...)
	}
	for _, k := range e.Remove {
		env = drop(env, k)
	}
	for _, file := range e.Files {
		data, err := readEnvFile(file)
		if err != nil {
			return nil, fmt.Errorf("read environment file: %w", err)
		}
		vars, err := value.EnvFile(data)
		if err != nil {
			return nil, fmt.Errorf("read environment file %s: %w", file, err)
		}
		env = put(env, vars...)
	}
	env = put(env, e.Set...)
	if e.IDKey != "" {
		env = put(env, value.Var{Key: e.IDKey, Value: runID})
	}
	return env, nil
}

// mostEnvFile is the most bytes of an environment file: more than a system hands
// to a program, and a bound for a file that has no end.
const mostEnvFile = 16 << 20

func readEnvFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostEnvFile+1))
	if err == nil && len(data) > mostEnvFile {
		err = fmt.Errorf("%s has more than %d bytes", path, mostEnvFile)
	}
	return data, err
}

func put(env []string, vars ...value.Var) []string {
	for _, v := range vars {
		env = append(drop(env, v.Key), v.Key+"="+v.Value)
	}
	return env
}

// drop leaves a variable out.
func drop(env []string, key string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !sameKey(name, key) {
			out = append(out, kv)
		}
	}
	return out
}

// sameKey compares two names of variables as this system does.
func sameKey(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// searchPath is the PATH in which the program is looked up: its own, or the
// runner's where it has none.
func (e *Environment) searchPath(env []string) string {
	for _, list := range [][]string{env, e.Base} {
		for _, kv := range list {
			if name, v, ok := strings.Cut(kv, "="); ok && sameKey(name, "PATH") {
				return v
			}
		}
	}
	return ""
}

// workDir is the absolute working directory of the child.
func workDir(dir string) (string, error) {
	here, err := os.Getwd()
	if err == nil {
		_, err = os.Stat(here)
	}
	if err != nil {
		return "", fmt.Errorf("read the working directory: %w", err)
	}
	if dir == "" {
		return here, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(here, dir)
	}
	return filepath.Clean(dir), nil
}

// openInput opens the file that the child reads.
func openInput(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open input file: %w", err)
	}
	if fi, err := f.Stat(); err == nil && fi.IsDir() {
		f.Close()
		return nil, fmt.Errorf("open input file: %s is a directory", path)
	}
	return f, nil
}

// program looks the program up.
func program(argv []string, dir, path, pathext string) (string, error) {
	return sys.FindExecutable(argv[0], dir, path, pathext)
}
