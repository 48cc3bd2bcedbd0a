package linux

import (
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// fact is what this kernel is asked for when it is wanted first, and does not change
// afterwards. Only an answer is remembered: a shortage of descriptors or of memory,
// or a /proc that is not mounted yet, passes.
type fact[T any] struct {
	// ask gives an error with a value that does until there is an answer.
	ask    func() (T, error)
	answer atomic.Pointer[T]
	asking sync.Mutex
}

// get is the answer, or what does for it.
func (f *fact[T]) get() T {
	v, _ := f.find()
	return v
}

// find is the answer; the error says why there is none this time.
func (f *fact[T]) find() (T, error) {
	if known := f.answer.Load(); known != nil {
		return *known, nil
	}
	f.asking.Lock()
	defer f.asking.Unlock()
	if known := f.answer.Load(); known != nil {
		return *known, nil
	}
	v, err := f.ask()
	if err == nil {
		f.answer.Store(&v)
	}
	return v, err
}

// settled makes v an answer where the error is one: that the kernel, or whoever has
// set up this machine, does not give what was asked for.
func settled[T any](v T, err error) (T, error) {
	if refused(err) {
		err = nil
	}
	return v, err
}

// refused tells whether the same call would fail the next time, too.
func refused(err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return procThere() // or /proc lacks everything
	}
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EINVAL)
}

// procThere tells whether /proc is there and shows this process.
func procThere() bool {
	fd, err := open("/proc/self/stat", unix.O_RDONLY)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}
