package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra/doc"
)

// manDate stands on every page, so that one source always makes the same pages.
var manDate = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

// TestManPages: the pages in the binary are those of its verbs.
func TestManPages(t *testing.T) {
	var understood bool
	root := (&App{Env: func(string) string { return "" }}).root(&understood)
	root.DisableAutoGenTag = true
	root.InitDefaultHelpCmd()
	made := t.TempDir()
	date := manDate
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "belfry", Manual: "belfry", Date: &date}, made); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.RemoveAll("man"); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS("man", os.DirFS(made)); err != nil {
			t.Fatal(err)
		}
		return // this binary has the old ones
	}
	got, want := readPages(t, pages, "man"), readPages(t, os.DirFS(made), ".")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-made now +in the binary; make golden rewrites them):\n%s", diff)
	}
}

func readPages(t *testing.T, fsys fs.FS, dir string) map[string]string {
	t.Helper()
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(sub, "*.1")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		b, err := fs.ReadFile(sub, name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = strings.ReplaceAll(string(b), "\r\n", "\n")
	}
	return all
}
