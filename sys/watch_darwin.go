package sys

import "github.com/belfry-dev/belfry/darwin"

func watchFile(path string) (*FileWatch, error) {
	w, err := darwin.WatchFile(path)
	if err != nil {
		return nil, err
	}
	return watchNext(w.Next, w.Close), nil
}
