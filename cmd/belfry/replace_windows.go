package main

import (
	"os"
	"path/filepath"
)

// systemVariables are those that no program of this system can do without:
// without SystemRoot most cannot load their own libraries.
var systemVariables = []string{"SystemRoot", "SystemDrive", "windir", "TEMP", "TMP", "USERPROFILE"}

// replaceFile writes a file beside path, and renames it over path once it is
// on disk.
func replaceFile(path string, text []byte) (err error) {
	dir, name := filepath.Split(path)
	f, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // Best effort: the first error is the one to tell.
		}
	}()
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Rename(filepath.Base(f.Name()), name)
}
