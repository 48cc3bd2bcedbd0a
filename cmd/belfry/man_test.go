package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
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
		pack(t, filepath.Join("man", "pages.json.gz"), readPages(t, made))
		return // this binary has the old ones
	}
	want := readPages(t, made)
	if diff := cmp.Diff(want, readPages(t, "man")); diff != "" {
		t.Errorf("pages (-made now +in the folder; make golden rewrites them):\n%s", diff)
	}
	got, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-made now +in the binary; make golden rewrites them):\n%s", diff)
	}
}

func readPages(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = strings.ReplaceAll(string(b), "\r\n", "\n")
	}
	return all
}

// pack writes what pages unpacks.
func pack(t *testing.T, path string, all map[string]string) {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		err = errors.Join(json.NewEncoder(w).Encode(all), w.Close())
	}
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
