package sys

import "os"

// CommonFile reads and writes a file that other processes have open as well, as
// they have a terminal or an inherited pipe. Whether such a file waits is a
// property that all share, and any of them may change it at any time: some
// language runtimes do. What would have waited fails then, with the bytes lost.
// A CommonFile waits all the same. It may be read by one goroutine and written by
// another at once.
type CommonFile struct{ read, write commonEnd }

// commonEnd is one direction: f, and once that has refused to wait, polled.
type commonEnd struct{ f, polled *os.File }

// NewCommonFile is for a file that stays the caller's: it is not closed.
func NewCommonFile(f *os.File) *CommonFile {
	return &CommonFile{commonEnd{f: f}, commonEnd{f: f}}
}

// Read is that of the file, and waits.
func (c *CommonFile) Read(b []byte) (n int, err error) {
	err = c.read.patiently(func(f *os.File) error {
		n, err = f.Read(b)
		return err
	})
	return n, err
}

// Write is that of the file, and waits.
func (c *CommonFile) Write(b []byte) (n int, err error) {
	err = c.write.patiently(func(f *os.File) error {
		some, err := f.Write(b[n:])
		n += some
		return err
	})
	return n, err
}

// patiently does it again in the poller where it was refused to wait.
func (e *commonEnd) patiently(do func(f *os.File) error) error {
	if e.polled != nil {
		return do(e.polled)
	}
	err := do(e.f)
	if !wouldBlock(err) {
		return err
	}
	if e.polled, err = polledCopy(e.f); err != nil {
		return err
	}
	return do(e.polled)
}

// ReaderGone reports whether a write failed because nobody is there any more to
// read what is written, and not because it could not be kept.
func (c *CommonFile) ReaderGone(err error) bool { return readerGone(c.write.f, err) }
