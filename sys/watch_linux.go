package sys

import (
	"errors"
	"io/fs"

	"github.com/belfry-dev/belfry/linux"
)

// watchFile takes the clock when the user's inotify instances are used up.
func watchFile(path string) (*FileWatch, error) {
	w, err := linux.WatchFile(path)
	switch {
	case err == nil:
		return watchNext(w.Next, w.Close), nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, err
	}
	return watchByClock(), nil
}
