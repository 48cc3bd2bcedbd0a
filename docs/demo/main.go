// Demo is an agent's session with belfry, told in plain words while it
// happens: a real build in the background, other work meanwhile, waiting,
// reading, an exit code; then a process tree that does its best to get away,
// killed and looked for.
//
//	go build -o build/belfry ./cmd/belfry && go run ./docs/demo -server build/belfry
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	server := flag.String("server", filepath.Join("build", "belfry"), "the belfry binary")
	pkg := flag.String("package", "./ring", "the package of this repository to test")
	role := flag.String("role", "", "be a process of the tree of act 2")
	flag.Parse()
	if *role != "" {
		os.Exit(play(*role))
	}
	if err := session(context.Background(), *server, *pkg); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

// session is the whole demo. The stages check what they see, so that a demo
// that went wrong says so and ends with status 1.
func session(ctx context.Context, server, pkg string) error {
	begin := time.Now()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "belfry-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	policy := filepath.Join(tmp, "policy.json")
	text, err := json.Marshal(map[string][]string{"allow": {"go", self}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(policy, text, 0o600); err != nil {
		return err
	}

	say("belfry, seen by an agent.")
	say("The agent starts `belfry mcp` and speaks MCP with it. The policy of this demo")
	say("allows two programs, go and the demo itself; anything else would be denied.")
	a, err := hire(ctx, server, filepath.Join(tmp, "state"), "mcp", "--policy", policy)
	if err != nil {
		return err
	}
	defer a.Close() // Best effort: it matters only when the demo failed midway.
	if err := a.showTools(ctx); err != nil {
		return err
	}
	if err := a.actBuild(ctx, pkg); err != nil {
		return err
	}
	if err := a.actTree(ctx, self); err != nil {
		return err
	}

	say("\nThe agent closes the connection.")
	closing := time.Now()
	if err := a.Close(); err != nil {
		return fmt.Errorf("the server did not end well: %w", err)
	}
	say("  The server ended with status 0 after %s. The whole session took %s.",
		short(time.Since(closing)), short(time.Since(begin)))
	return nil
}

func (a *agent) showTools(ctx context.Context) error {
	var tools struct {
		Tools []struct{ Name, Title string }
	}
	if _, err := a.Call(ctx, "tools/list", map[string]any{}, &tools); err != nil {
		return err
	}
	say("  It offers %d tools:", len(tools.Tools))
	for _, t := range tools.Tools {
		say("    %-8s %s", t.Name, t.Title)
	}
	return nil
}

// goEnvironment is what the go command needs beside PATH and HOME to work as
// it does for the reader of the demo: a job inherits nothing else.
func goEnvironment() (map[string]string, error) {
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	vars := map[string]string{}
	if err := json.Unmarshal(out, &vars); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	vars["CGO_ENABLED"] = "0"
	return vars, nil
}
