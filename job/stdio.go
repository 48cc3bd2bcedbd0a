package job

import (
	"fmt"
	"os"

	"github.com/belfry-dev/belfry/sys"
)

// stdio is what a process is started with: an empty input, and a pipe for each
// stream. To make it takes a tenth of what it takes to start a short job, so the
// next one is made while a job runs, and waits.
type stdio struct {
	null  *os.File
	pipes []pipeEnds
}

// pipeEnds are the ends of one pipe.
type pipeEnds struct {
	r *sys.PipeReader
	w *os.File // the child's
}

// usualStreams is how many streams nearly all jobs have.
const usualStreams = 2

func newStdio(streams int) (io *stdio, err error) {
	io = &stdio{}
	if io.null, err = sys.OpenNull(); err != nil {
		return nil, fmt.Errorf("open the job's input: %w", err)
	}
	for range streams {
		r, w, err := sys.NewPipe()
		if err != nil {
			io.close()
			return nil, fmt.Errorf("make the job's output pipe: %w", err)
		}
		io.pipes = append(io.pipes, pipeEnds{r, w})
	}
	return io, nil
}

// files are the child's ends.
func (io *stdio) files() [3]*os.File {
	return [3]*os.File{io.null, io.pipes[0].w, io.pipes[len(io.pipes)-1].w}
}

// closeFiles closes the child's ends.
func (io *stdio) closeFiles() {
	io.null.Close()
	for _, p := range io.pipes {
		p.w.Close()
	}
}

func (io *stdio) close() {
	io.closeFiles()
	for _, p := range io.pipes {
		_ = p.r.Close()
	}
}

// takeStdio gives the one that waits, if it fits, or makes one.
func (s *Store) takeStdio(streams int) (*stdio, error) {
	if streams == usualStreams {
		if io := s.next.Swap(nil); io != nil {
			return io, nil
		}
	}
	return newStdio(streams)
}

// makeNext makes the stdio of the next job unless one waits. Best effort: where no
// descriptor is left, the next job will say so.
func (s *Store) makeNext() {
	if s.next.Load() != nil {
		return
	}
	io, err := newStdio(usualStreams)
	if err != nil {
		return
	}
	if !s.next.CompareAndSwap(nil, io) {
		io.close()
	}
	if s.isClosing() {
		s.dropNext()
	}
}

// dropNext closes what waits for a next job.
func (s *Store) dropNext() {
	if io := s.next.Swap(nil); io != nil {
		io.close()
	}
}
