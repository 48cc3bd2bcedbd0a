package sys

import "os"

// TempSuffix ends the name of what WriteWhole has not finished.
const TempSuffix = ".tmp"

// WriteWhole writes a file of the owner's that is never seen half: what had the
// name before has it until all is written. One writer at a time; nothing is
// forced to the disk. After an error the file is as it was.
func WriteWhole(path string, data []byte) error {
	temp := path + TempSuffix
	err := os.WriteFile(temp, data, 0o600)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		err = Obstacle(path, err)
		os.Remove(temp) // Best effort: it is written over next time.
	}
	return err
}
