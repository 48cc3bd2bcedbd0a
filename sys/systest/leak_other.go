//go:build !linux

package systest

import "github.com/belfry-dev/belfry/sys"

func openFiles() map[string]int { return nil }
func childLeaks() []string      { return nil }
func groupLeaks() []string      { return nil }

// Options are the host options that tests use.
func Options() sys.HostOptions { return sys.HostOptions{} }
