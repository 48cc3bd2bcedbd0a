package registry

import (
	"errors"

	"github.com/belfry-dev/belfry/sys"
)

var errTooLongFile = errors.New("the file is longer than a record")

// readBounded reads a file of at most MaxRecord bytes. A longer one is not read
// to its end (errTooLongFile).
func readBounded(path string) ([]byte, error) {
	data, err := sys.ReadShared(path, MaxRecord+1)
	if err == nil && len(data) > MaxRecord {
		err = errTooLongFile
	}
	return data, err
}
