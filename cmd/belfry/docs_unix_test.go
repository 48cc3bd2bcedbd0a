//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the pages show of a terminal is what one gets: each command of their
// console blocks is run, in the order of the page, and its output compared.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%v %v", pages, err)
	}
	shown := 0
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := shownIn(string(text))
		if len(all) == 0 {
			continue
		}
		shown += len(all)
		t.Run(filepath.Base(path), func(t *testing.T) {
			desk := newTerminal(t)
			for _, s := range all {
				desk.compare(s)
			}
		})
	}
	if shown == 0 {
		t.Error("no page shows a terminal")
	}
}

// show is one command of a page and what it prints; "…" stands for any text.
type show struct {
	line    int
	command string
	output  []string
}

// shownIn finds the commands in the console blocks of a page.
func shownIn(page string) (all []show) {
	inside := false
	n := 0
	for line := range strings.Lines(page) {
		n++
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case line == "```console":
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside && isCommand:
			all = append(all, show{line: n, command: command})
		case inside && len(all) > 0:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}
	return all
}

// terminal runs commands with this binary as belfry, and folders of their own.
type terminal struct {
	t   *testing.T
	dir string
	env []string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	belfry := filepath.Join(bin, "belfry")
	if err := os.Symlink(self, belfry); err != nil {
		t.Fatal(err)
	}
	// The path of a socket is bounded, and that of a test's own folder is long.
	runtime, err := os.MkdirTemp("", "belfry-page-")
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, dir: t.TempDir(), env: append(os.Environ(),
		"PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(),
		"BELFRY_RUNTIME_DIR="+runtime, "BELFRY_REGISTRY_DIR=", "BELFRY_DAEMON_BINARY="+belfry, "BELFRY_STATE_DIR="+t.TempDir())}
	t.Cleanup(func() {
		term.run("belfry daemon stop; belfry stop --now --all")
		os.RemoveAll(runtime)
	})
	return term
}

// run gives the output of a command, and its status if that is not 0.
func (d *terminal) run(command string) string {
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.dir, d.env, &out, &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		fmt.Fprintf(&out, "(status %d)\n", exit.ExitCode())
	} else if err != nil {
		d.t.Fatal(err)
	}
	return out.String()
}

func (d *terminal) compare(s show) {
	d.t.Helper()
	want := strings.Join(append(s.output, ""), "\n")
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	pattern = regexp.MustCompile(` {2,}`).ReplaceAllString(pattern, " +") // columns are as wide as what is in them
	if got := d.run(s.command); !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
		d.t.Errorf("line %d: $ %s\n%s\nwant\n%s", s.line, s.command, got, want)
	}
}
