package clienttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// scenario is one of the conformance suite's, at the revisions that it is run
// with; those of extensions have none.
type scenario struct {
	name      string
	revisions []string
}

var (
	legacyRevisions = []string{"2025-06-18", "2025-11-25"}
	allRevisions    = append(append([]string{}, legacyRevisions...), modern)
)

// general need no tools or resources but the server's own.
var general = []scenario{
	{"server-initialize", legacyRevisions},
	{"ping", legacyRevisions},
	{"tools-list", allRevisions},
	{"prompts-list", allRevisions},
	{"resources-list", allRevisions},
	{"sep-2164-resource-not-found", []string{modern}},
	{"caching", []string{modern}},
	{"server-stateless", []string{modern}},
}

// ofFixtures call tools that only the server with fixtures has.
var ofFixtures = []scenario{
	{"server-stateless", []string{modern}},
	{"tasks-lifecycle", []string{""}},
	{"tasks-capability-negotiation", []string{""}},
	{"tasks-wire-fields", []string{""}},
	{"tasks-request-state-removal", []string{""}},
	{"tasks-mrtr-input", []string{""}},
	{"tasks-request-headers", []string{""}},
	{"tasks-dispatch-and-envelope", []string{""}},
	{"tasks-required-task-error", []string{""}},
	{"tasks-mrtr-composition", []string{""}},
}

func TestConformance(t *testing.T) {
	k := clients(t)
	for _, g := range []struct {
		name, server string
		scenarios    []scenario
	}{
		{"server", k.server, general},
		{"fixtures", k.fixtures, ofFixtures},
	} {
		t.Run(g.name, func(t *testing.T) {
			for _, s := range g.scenarios {
				for _, revision := range s.revisions {
					name := s.name
					if revision != "" {
						name += "@" + revision
					}
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						conform(t, k, g.server, s.name, revision)
					})
				}
			}
		})
	}
}

// verdict is what the suite says of one check.
type verdict struct {
	ID           string
	Status       string
	ErrorMessage string
	Details      struct{ Message string }
}

func (v verdict) why() string {
	return strings.TrimSpace(v.ErrorMessage + " " + v.Details.Message)
}

// conform runs a scenario against a server; every check becomes a subtest.
func conform(t *testing.T, k kit, server, name, revision string) {
	out := t.TempDir()
	argv := []string{filepath.Join(k.modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", serveHTTP(t, server), "--scenario", name, "--output-dir", out,
		"--timeout", strconv.FormatInt(guard.Milliseconds(), 10)}
	if revision != "" {
		argv = append(argv, "--spec-version", revision)
	}
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.node, argv...)
	cmd.Dir = out
	said, err := cmd.CombinedOutput()

	verdicts := verdictsIn(t, out)
	if len(verdicts) == 0 {
		t.Fatalf("the suite came to no verdict: %v\n%s", err, said)
	}
	passed := 0
	for n, v := range verdicts {
		t.Run(fmt.Sprintf("%d %s", n+1, v.ID), func(t *testing.T) {
			switch {
			case v.Status == "SUCCESS":
				passed++
			case v.Status == "SKIPPED", v.Status == "INFO", strings.HasPrefix(v.why(), "Not testable:"):
				t.Skip(v.Status, v.why())
			default:
				t.Error(v.Status, v.why())
			}
		})
	}
	if passed == 0 {
		t.Error("the scenario has no check that passed")
	}
}

// verdictsIn reads what the suite wrote below a folder.
func verdictsIn(t *testing.T, dir string) []verdict {
	var all []verdict
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var some []verdict
		if err := json.Unmarshal(b, &some); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, some...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
