//go:build unix

package main

import "github.com/google/renameio/v2"

// systemVariables are those that no program of this system can do without.
var systemVariables []string

// replaceFile writes a file of the user's own beside path, and renames it over
// path once it is on disk.
func replaceFile(path string, text []byte) error {
	return renameio.WriteFile(path, text, 0o600, renameio.WithExistingPermissions())
}
