package sys

import (
	"runtime"
	"sync"
)

// spareThreads is how many threads a host has in reserve. The runtime ends the
// whole program when it needs a thread and gets none, and it needs one for each
// call of the kernel that waits.
const spareThreads = 16

// reserve keeps threads for the time when a job has used up what its user may
// have (RLIMIT_NPROC, a control group's pids.max): a supervisor without threads
// could not end it.
type reserve struct{ once sync.Once }

// fill makes the threads, once, in the background.
func (r *reserve) fill() { r.once.Do(func() { go makeThreads(spareThreads) }) }

// makeThreads returns once that many threads are there beside the caller's. The
// runtime never gives an idle one back, and takes it before it makes another.
func makeThreads(n int) {
	var ready, gone sync.WaitGroup
	release := make(chan struct{})
	ready.Add(n)
	for range n {
		gone.Go(func() {
			// While it is locked and waits, its thread can do nothing else.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	gone.Wait()
}
