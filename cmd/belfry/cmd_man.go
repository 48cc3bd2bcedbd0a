package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// pages are the manual pages, one a verb. They are made by a test and not as
// they are asked for: what makes them would cost every start of belfry time and
// memory.
//
//go:embed man/*.1
var pages embed.FS

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
			page, err := pages.ReadFile("man/belfry.1")
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(page)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write one page a verb into this folder")
	return cmd
}

func writePages(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	all, err := fs.ReadDir(pages, "man")
	if err != nil {
		return err
	}
	for _, f := range all {
		page, err := pages.ReadFile("man/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), page, 0o644); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	return nil
}
