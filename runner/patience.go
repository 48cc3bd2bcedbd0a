package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/belfry-dev/belfry/job"
)

// stopped is the error of a setup that a signal ended.
type stopped struct{ word string }

func (s stopped) Error() string {
	return fmt.Sprintf("cancelled (%s) before the program was started", strings.ToUpper(s.word))
}

// soon is how long a setup that a signal would end may go on: most are over by
// then, and the signal ends what they began.
const soon = 200 * time.Millisecond

// patiently opens what may have to be waited for: a FIFO whose other end nobody
// has, a file system that does not answer. A signal that asks for the end, or the
// end of ctx, gives it up, but for what comes soon; drop then closes what comes of
// it after all, and only drop may look at it. Other signals are put back.
func patiently(ctx context.Context, s *signals, open func() error, drop func()) error {
	done := make(chan error, 1)
	go func() { done <- open() }()
	ended := ctx.Done()
	var word string // of the signal that ends it
	var late <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case sig := <-s.c:
			w, stops := stopWord(sig)
			if stops && word == "" {
				word, late = w, time.After(soon)
			}
			if !stops || word == w {
				defer s.again(sig)
			}
		case <-ended:
			ended, word, late = nil, "sigterm", time.After(soon)
		case <-late:
			go func() {
				if <-done == nil {
					drop()
				}
			}()
			return stopped{word}
		}
	}
}

// notSetUp is the end of a run whose files could not be had.
func (r *run) notSetUp(err error) Ending {
	s, ok := errors.AsType[stopped](err)
	if !ok {
		return r.over(Ending{Source: SourceSetup, Message: err.Error()})
	}
	r.stream.end(r.endingEvent(job.EndedBy(bySignal + s.word)))
	return r.over(Ending{Source: SourceCancelled, Message: err.Error()})
}

// opened are the files that a run needs, and the environment, which files make.
type opened struct {
	capture *capture
	input   *os.File
	env     []string
}

// open opens them. On an error what was opened stays so until this process ends,
// which it soon does, but for what the child would read.
func (o *Options) open(runID string, warn func(string, ...any)) (f opened, err error) {
	if o.CaptureDir != "" {
		others := o.others()
		for _, t := range o.transcripts() {
			if err := t.distinct(others); err != nil {
				return f, err
			}
		}
		if f.capture, err = openCapture(o.CaptureDir, o.CaptureMax, warn); err != nil {
			return f, err
		}
	}
	if o.Input == InputFile {
		if f.input, err = openInput(o.InFile); err != nil {
			return f, err
		}
	}
	if f.env, err = o.Env.list(runID); err != nil {
		f.close()
	}
	return f, err
}

// close closes what a child would read.
func (f opened) close() {
	if f.input != nil {
		f.input.Close()
	}
}
