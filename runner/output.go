package runner

import (
	"fmt"
	"io"
	"os"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// channel takes what one stream says: into its transcript, then to the
// runner's own stream. It belongs to the pump's goroutine.
type channel struct {
	run  *run
	name string      // as a person calls it
	log  *transcript // nil: none
	over job.EndedBy // what an overflow is called
	echo io.Writer   // nil: none, or broken
}

// take is the tap. A consumer that is gone ends the echo and nothing else, and is
// no surprise: head and less leave. What cannot be kept is told.
func (c *channel) take(b []byte) {
	c.run.clocks.hear()
	if c.log != nil && c.log.write(b) && c.run.o.CaptureCancel {
		c.run.end(c.over, false)
	}
	if c.echo == nil {
		return
	}
	c.run.clocks.blocked.Add(1)
	_, err := c.echo.Write(b)
	c.run.clocks.blocked.Add(-1)
	c.run.clocks.hear()
	if err == nil {
		return
	}
	if f, ok := c.echo.(*sys.CommonFile); !ok || !f.ReaderGone(err) {
		c.run.warn("the copy to our %s ends here: %v", c.name, err)
	}
	c.echo = nil
}

// stdio opens the child's three descriptors and the taps behind them. theirs
// must be closed once the child has them.
func (r *run) stdio(sp *sys.Spec) (outputs []job.Output, theirs []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(theirs)
			for _, o := range outputs {
				o.Reader.Close()
			}
		}
	}()
	if r.o.Inherit {
		out, ok1 := r.o.Stdout.(*os.File)
		errs, ok2 := r.o.Stderr.(*os.File)
		if !ok1 || !ok2 || r.o.Stdin == nil {
			return nil, nil, fmt.Errorf("inherit standard streams: they are no files")
		}
		sp.Stdio = [3]*os.File{r.o.Stdin, out, errs}
		r.share(sp)
		return nil, nil, nil
	}
	if r.o.PTY {
		return r.ownTerminal(sp)
	}
	switch {
	case r.input != nil:
		sp.Stdio[0] = r.input
		theirs = append(theirs, r.input)
	case r.o.Input == InputInherit && r.o.Stdin != nil:
		sp.Stdio[0] = r.o.Stdin
		r.share(sp)
	default:
		if sp.Stdio[0], err = os.Open(os.DevNull); err != nil {
			return nil, theirs, err
		}
		theirs = append(theirs, sp.Stdio[0])
	}
	for i, c := range r.channels() {
		reader, w, err := sys.NewPipe()
		if err != nil {
			return outputs, theirs, fmt.Errorf("make output pipe: %w", err)
		}
		theirs = append(theirs, w)
		sp.Stdio[1+i] = w
		outputs = append(outputs, job.Output{Reader: reader, Tap: c.take})
	}
	return outputs, theirs, nil
}

func (r *run) channels() []*channel {
	out := &channel{run: r, name: "standard output", over: byOverflowOut}
	errs := &channel{run: r, name: "standard error", over: byOverflowErr}
	if r.capture != nil {
		out.log, errs.log = r.capture.stdout, r.capture.stderr
	}
	if !r.o.NoEcho {
		out.echo, errs.echo = common(r.o.Stdout), common(r.o.Stderr)
	}
	return []*channel{out, errs}
}

// common is a stream of ours, which others may have as well if it is a file.
func common(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		return sys.NewCommonFile(f)
	}
	return w
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
