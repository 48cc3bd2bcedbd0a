package sys

import (
	"errors"
	"os"
	"time"
)

// ErrWouldBlock is returned by PipeReader.ReadNow when nothing is there yet.
var ErrWouldBlock = errors.New("nothing to read yet")

// PipeReader is our end of a job's output pipe. One goroutine reads; Close and
// SetReadDeadline may be called from any.
type PipeReader struct{ end *pipeEnd }

// NewPipe makes a pipe for a job's output. Our end waits in the runtime's
// poller, occupies no thread and is not inherited; the child's end is a plain
// blocking file, which the caller closes after Host.Start.
func NewPipe() (*PipeReader, *os.File, error) {
	end, child, err := newPipe()
	if err != nil {
		return nil, nil, err
	}
	return &PipeReader{end: end}, child, nil
}

// OpenNull opens the null device for reading: the input of a job that gets none.
func OpenNull() (*os.File, error) { return openNull() }

// Read waits until there is something, and gives io.EOF once every holder of
// the child's end is gone, or an error that wraps os.ErrDeadlineExceeded.
func (p *PipeReader) Read(b []byte) (int, error) { return p.end.read(b) }

// ReadNow never waits: ErrWouldBlock when nothing is there, io.EOF at the end.
// An expired deadline does not matter to it.
func (p *PipeReader) ReadNow(b []byte) (int, error) { return p.end.readNow(b) }

// Quiet takes our end out of the runtime's poller, until the next Read: what is
// written meanwhile wakes nothing, which costs the writer, too. ReadNow and
// Buffered work as before. Only the goroutine that reads may call it. Where it
// cannot be had the answer is nil.
func (p *PipeReader) Quiet() error { return p.end.quiet() }

// Buffered is the number of bytes that wait in the pipe now.
func (p *PipeReader) Buffered() (int, error) { return p.end.buffered() }

// SetReadDeadline bounds Read; the zero time removes the bound.
func (p *PipeReader) SetReadDeadline(t time.Time) error { return p.end.setReadDeadline(t) }

// Grow asks the kernel for a buffer of so many bytes, or half as many, and so
// on, and gives the size that it has now, 0 where that is not known. Where more
// cannot be had (no such call, a limit) the pipe stays as it was, without an error:
// size is speed, never correctness.
func (p *PipeReader) Grow(bytes int) (int, error) { return p.end.grow(bytes) }

// Close closes our end; a waiting Read returns an error that wraps
// os.ErrClosed.
func (p *PipeReader) Close() error { return p.end.close() }

// usable names the one reason why a file's descriptor cannot be used: it is
// closed. The runtime's own error for that is private.
func usable(f *os.File, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: "use", Path: f.Name(), Err: os.ErrClosed}
}
