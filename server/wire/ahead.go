package wire

import (
	"io"
	"sync"
)

// aheadSize is how much is read on for the end of an input: more than a pipe or a
// socket holds unless somebody has made it larger.
const aheadSize = 1 << 20

// ahead is an input that is read on, up to aheadSize, while its reader has something
// else to wait for: so its end is noticed, although what comes before is not served yet.
type ahead struct {
	in    io.Reader
	ended chan struct{} // closed when reading on has come to the end

	mu      sync.Mutex
	moved   sync.Cond // reading on has read something, or stopped
	buf     []byte    // not asked for yet
	err     error     // what follows it
	wanted  bool
	reading bool // reading on is under way
}

func newAhead(in io.Reader) *ahead {
	a := &ahead{in: in, ended: make(chan struct{})}
	a.moved.L = &a.mu
	return a
}

// begin has the input read on until rest. A read that waits then goes on, and the
// next Read gets what it brings.
func (a *ahead) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted = true
	if !a.reading && a.mayRead() {
		a.reading = true
		go a.run()
	}
}

func (a *ahead) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted = false
}

func (a *ahead) mayRead() bool { return a.wanted && a.err == nil && len(a.buf) < aheadSize }

func (a *ahead) run() {
	b := make([]byte, readSize)
	for on := true; on; {
		n, err := a.in.Read(b)
		a.mu.Lock()
		a.buf = append(a.buf, b[:n]...)
		if a.err = err; err != nil {
			close(a.ended)
		}
		on = a.mayRead()
		a.reading = on
		a.moved.Broadcast()
		a.mu.Unlock()
	}
}

func (a *ahead) Read(b []byte) (int, error) {
	a.mu.Lock()
	for len(a.buf) == 0 && a.reading {
		a.moved.Wait()
	}
	n, err := copy(b, a.buf), a.err
	a.buf = a.buf[n:]
	if len(a.buf) == 0 {
		a.buf = nil
	}
	a.mu.Unlock()
	switch {
	case n > 0:
		return n, nil
	case err != nil:
		return 0, err
	}
	return a.in.Read(b)
}
