package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the linker (-X main.version=1.2.3). A build without it
// takes the module's version, and a build of a bare tree says so.
var version string

// undated is the version of a build that knows no better.
const undated = "0.1.0-dev"

// build is what a binary knows of its own making.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the tree differed from the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func versionOf() build {
	b := build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := strings.TrimPrefix(info.Main.Version, "v"); b.Version == "" && v != "(devel)" {
			b.Version = v
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	if b.Version == "" {
		b.Version = undated
	}
	return b
}

func (a *App) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go that built it",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			b := versionOf()
			if asJSON {
				return a.printJSON(b)
			}
			commit := ""
			if b.Commit != "" {
				commit = "commit " + b.Commit
				if b.Modified {
					commit += " with changes"
				}
				commit += ", "
			}
			return a.printf("belfry %s (%s%s %s/%s)\n", b.Version, commit, b.Go, b.OS, b.Arch)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
