package clienttest

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// guard bounds one program that a test runs. It is no measure of speed.
const guard = 3 * time.Minute

//go:embed npm/package.json npm/package-lock.json
var manifests embed.FS

// kit is what the tests share.
type kit struct {
	node     string // the program
	modules  string // the folder node_modules
	server   string // a program that is the server on stdio
	fixtures string // the same with the tools that conformance suites want
}

var shared struct {
	once sync.Once
	kit  kit
	err  error
	dir  string // removed at the end
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.dir != "" {
		if err := os.RemoveAll(shared.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// errSkip is why there are no clients here, which is no failure.
var errSkip = errors.New("the clients are not here")

// clients gives the kit, or skips the test where it is not asked for or npm is
// not there.
func clients(t *testing.T) kit {
	t.Helper()
	if os.Getenv("BELFRY_CLIENTS") != "1" {
		t.Skip("needs npm and a network; make test-clients runs it")
	}
	shared.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		shared.kit, shared.err = prepare(ctx)
	})
	if errors.Is(shared.err, errSkip) {
		t.Skip(shared.err)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.kit
}

func prepare(ctx context.Context) (kit, error) {
	if runtime.GOOS == "windows" {
		return kit{}, fmt.Errorf("%w: they start the server through a shell script", errSkip)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return kit{}, fmt.Errorf("%w: %w", errSkip, err)
	}
	modules, err := install(ctx, npm)
	if err != nil {
		return kit{}, err
	}
	node, err := nodeOf(modules)
	if err != nil {
		return kit{}, err
	}
	if shared.dir, err = os.MkdirTemp("", "belfry-clients-"); err != nil {
		return kit{}, err
	}
	// The servers of the clients have no detached jobs of this user.
	if err := os.Setenv("BELFRY_STATE_DIR", filepath.Join(shared.dir, "state")); err != nil {
		return kit{}, err
	}
	k := kit{node: node, modules: modules}
	if k.server, k.fixtures, err = buildServers(ctx, shared.dir); err != nil {
		return kit{}, err
	}
	return k, nil
}

// install gives the folder of the packages. Each set of manifests has a folder
// of its own, which appears when it is whole.
func install(ctx context.Context, npm string) (string, error) {
	cache := os.Getenv("BELFRY_CLIENTS_DIR")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "belfry-clients")
	}
	hash := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := manifests.ReadFile("npm/" + name)
		if err != nil {
			return "", err
		}
		files[name] = b
		hash.Write(b)
	}
	whole := filepath.Join(cache, hex.EncodeToString(hash.Sum(nil))[:16])
	modules := filepath.Join(whole, "node_modules")
	if _, err := os.Stat(whole); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(cache, "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(part, name), b, 0o644); err != nil {
			return "", err
		}
	}
	// Not npm ci: one of the packages wants an optional one that does not exist.
	cmd := exec.CommandContext(ctx, npm, "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = part
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w\n%s", err, out)
	}
	if err := exact(part, files["package.json"]); err != nil {
		return "", err
	}
	if err := os.Rename(part, whole); err != nil {
		if _, other := os.Stat(whole); other == nil {
			return modules, nil // another run was faster
		}
		return "", err
	}
	return modules, nil
}

// exact checks that what was asked for is what is there.
func exact(dir string, manifest []byte) error {
	var asked struct{ Dependencies map[string]string }
	if err := json.Unmarshal(manifest, &asked); err != nil {
		return err
	}
	for name, version := range asked.Dependencies {
		b, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json"))
		if err != nil {
			return fmt.Errorf("npm install left something out: %w", err)
		}
		var got struct{ Version string }
		if err := json.Unmarshal(b, &got); err != nil || got.Version != version {
			return fmt.Errorf("npm installed %s %s, not %s: %v", name, got.Version, version, err)
		}
	}
	return nil
}

// nodeOf gives a Node that is new enough for the conformance suite: one of the
// packages is that, for Linux. Elsewhere it is the system's.
func nodeOf(modules string) (string, error) {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	packaged := filepath.Join(modules, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(packaged); err == nil {
		return packaged, nil
	}
	return exec.LookPath("node")
}

// buildServers builds the server and the one with fixtures, and gives a program
// for each: clients differ in what arguments and variables they can pass on.
func buildServers(ctx context.Context, dir string) (server, fixtures string, err error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator),
		"./cmd/belfry", "./server/internal/fixtureserver")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("build the servers: %w\n%s", err, out)
	}
	policy, err := policyFile(dir)
	if err != nil {
		return "", "", err
	}
	for _, p := range []struct{ script, program string }{{"server", "belfry"}, {"fixtures", "fixtureserver"}} {
		text := fmt.Sprintf("#!/bin/sh\nexport BELFRY_POLICY_FILE='%s'\nexec '%s' mcp\n", policy, filepath.Join(dir, p.program))
		if err := os.WriteFile(filepath.Join(dir, p.script), []byte(text), 0o755); err != nil {
			return "", "", err
		}
	}
	return filepath.Join(dir, "server"), filepath.Join(dir, "fixtures"), nil
}

// policyFile writes a policy that allows what the clients run.
func policyFile(dir string) (string, error) {
	var allow []string
	for _, name := range []string{"sh", "true", "sleep", "echo"} {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", err
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", err
		}
		allow = append(allow, path)
	}
	b, err := json.Marshal(map[string]any{"allow": allow})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "policy.json")
	if strings.ContainsRune(path, '\'') {
		return "", fmt.Errorf("the folder %q cannot be quoted", dir)
	}
	return path, os.WriteFile(path, b, 0o644)
}
