package sys

import "time"

// watchPoll is how often is told "perhaps" where no event tells of a change.
const watchPoll = 250 * time.Millisecond

// FileWatch tells that a file may have changed.
type FileWatch struct {
	changed chan struct{}
	stop    func()
}

// WatchFile begins to watch the file at path. What was written before is not
// told, so a reader begins to watch before it reads.
func WatchFile(path string) (*FileWatch, error) { return watchFile(path) }

// Changed receives after a change, once for any number of them. Where the
// system tells of none it receives four times a second.
func (w *FileWatch) Changed() <-chan struct{} { return w.changed }

// Close ends the watch.
func (w *FileWatch) Close() { w.stop() }

// tell passes a change on; one that was not taken yet is enough.
func (w *FileWatch) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// watchByClock is for systems, and files, that tell of no change.
func watchByClock() *FileWatch {
	w := &FileWatch{changed: make(chan struct{}, 1)}
	t := time.NewTicker(watchPoll)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-t.C:
				w.tell()
			case <-stop:
				return
			}
		}
	}()
	w.stop = func() {
		t.Stop()
		close(stop)
		<-ended
	}
	return w
}
