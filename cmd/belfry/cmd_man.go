package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// packed are the manual pages, one a verb, by the names of their files: in JSON, and
// gzip makes a quarter of it. They are made by a test and not as they are asked for:
// what makes them would cost every start of belfry time and memory.
//
//go:embed man/pages.json.gz
var packed []byte

// pages unpacks them.
func pages() (all map[string]string, err error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(r).Decode(&all)
	}
	return all, err
}

func (a *App) manCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:                   "man [--dir DIR]",
		DisableFlagsInUseLine: true,
		Short:                 "Print the manual page, or write the pages of all verbs",
		Args:                  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if dir != "" {
				return writePages(dir)
			}
			all, err := pages()
			if err != nil {
				return err
			}
			return a.printf("%s", all["belfry.1"])
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write one page a verb into this folder")
	return cmd
}

func writePages(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	all, err := pages()
	if err != nil {
		return err
	}
	for name, page := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(page), 0o644); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	return nil
}
