package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// policyVariable names the policy file in the environment.
const policyVariable = "BELFRY_POLICY_FILE"

// policyFile finds the policy file: the flag's, else the variable's, else the
// default one, which need not exist.
func (a *App) policyFile(flag string) (job.PolicyFile, error) {
	named := job.PolicyFile{Path: flag, Origin: "--policy"}
	if flag == "" {
		named = job.PolicyFile{Path: a.Env(policyVariable), Origin: policyVariable}
	}
	if named.Path != "" {
		path, err := filepath.Abs(named.Path)
		if err != nil {
			return job.PolicyFile{}, fmt.Errorf("find the policy file: %w", err)
		}
		named.Path = path
		return named, nil
	}
	dir, err := sys.ConfigDir(a.Env)
	if err != nil {
		return job.PolicyFile{}, fmt.Errorf("find the policy file: %w", err)
	}
	return job.PolicyFile{Path: filepath.Join(dir, "policy.json"), Origin: "the default policy file"}, nil
}

// base is the part of the environment that jobs start from.
func (a *App) base() job.Base {
	b := job.Base{
		Path:    a.Env("PATH"),
		Home:    a.Env("HOME"),
		ComSpec: a.Env("ComSpec"),
		PathExt: a.Env("PATHEXT"),
	}
	for _, key := range systemVariables {
		if v := a.Env(key); v != "" {
			b.System = append(b.System, key+"="+v)
		}
	}
	return b
}

// searchPath is the PATH in which bare names of a policy are looked up.
func (a *App) searchPath() string {
	if p := a.Env("PATH"); p != "" {
		return p
	}
	return job.DefaultPath
}

// readPolicy reads the policy at path; a file that is not there is an empty one.
func (a *App) readPolicy(path string) (p job.Policy, exists bool, err error) {
	text, err := job.ReadPolicyFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text, err = []byte(`{"allow":[]}`), nil
	} else {
		exists = true
	}
	if err != nil {
		return job.Policy{}, exists, fmt.Errorf("read the policy: %w", err)
	}
	p, err = job.ParsePolicy(text, a.searchPath(), a.Env("PATHEXT"))
	if err != nil {
		return job.Policy{}, exists, fmt.Errorf("%s %w", path, err)
	}
	return p, exists, nil
}

// policyWait is how long a change waits for another one of the same policy.
const policyWait = 10 * time.Second

// lockPolicy keeps two changes of one policy from losing each other's entries.
// The lock is a file beside it, since the policy itself is replaced.
func lockPolicy(ctx context.Context, path string) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the policy's folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, policyWait)
	defer cancel()
	unlock, err = sys.Lock(ctx, path+".lock")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &failure{status: exitNo,
			err:  fmt.Errorf("another change of the policy holds %s.lock", path),
			hint: "try again when it is done; the lock goes with the process that holds it, so end that one if it hangs",
		}
	case err != nil:
		return nil, fmt.Errorf("wait for another change of the policy: %w", err)
	}
	return unlock, nil
}

// writePolicy replaces the file at path whole, or not at all. A symbolic link
// stays and the file that it names is replaced.
func writePolicy(path string, allow []string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	text, err := json.MarshalIndent(struct {
		Allow []string `json:"allow"`
	}{allow}, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(path, append(text, '\n')); err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	return nil
}
