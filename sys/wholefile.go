package sys

import (
	"errors"
	"os"
	"path/filepath"
)

// TempSuffix ends the name of what WriteWhole has not finished.
const TempSuffix = ".tmp"

// WriteWhole writes a file of the owner's that is never seen half: what had the
// name before has it until all is written. One writer at a time; nothing is
// forced to the disk. After an error the file is as it was.
func WriteWhole(path string, data []byte) error {
	temp := path + TempSuffix
	err := os.WriteFile(temp, data, 0o600)
	if err == nil {
		err = renameOver(temp, path)
	}
	if err != nil {
		err = Obstacle(path, err)
		os.Remove(temp) // Best effort: it is written over next time.
	}
	return err
}

// ReplaceWhole is WriteWhole for any number of writers at once: the file is what
// one of them wrote. A writer that is killed may leave a file with another name,
// which ends in TempSuffix and some digits.
func ReplaceWhole(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+TempSuffix+"-*") // mode 0600
	if err != nil {
		return Obstacle(path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = renameOver(f.Name(), path)
	}
	if err != nil {
		err = Obstacle(path, err)
		_ = os.Remove(f.Name()) // Best effort: nobody reads it.
	}
	return err
}
