package sys

import (
	"errors"
	"io/fs"
	"os"
)

// removeNow gives the file another name first: since Windows 10 1809 NTFS frees
// the name of a removed file by itself, other file systems do not.
func removeNow(path string) error {
	gone := path + GoneSuffix
	if err := os.Rename(path, gone); err != nil {
		return err
	}
	if err := os.Remove(gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
