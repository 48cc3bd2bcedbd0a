//go:build linux || darwin

package sys

// watchNext makes a watch of something that waits for one change at a time.
func watchNext(next, closing func() error) *FileWatch {
	w := &FileWatch{changed: make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for next() == nil {
			w.tell()
		}
	}()
	w.stop = func() {
		// Best effort: the only error is that it is closed already.
		closing()
		<-ended
	}
	return w
}
