package runner

import (
	"fmt"
	"io"
	"os"

	"github.com/belfry-dev/belfry/job"
	"github.com/belfry-dev/belfry/sys"
)

// screen is what a run has to do with terminals: our own, which may be given to
// the child, or one made for it.
type screen struct {
	shared bool          // the child may get our terminal
	apart  bool          // it uses ours from another session: its keys reach us alone
	take   func() error  // takes it back; nil: it was not given
	own    *sys.Terminal // the child's; nil: none
	raw    func() error  // ends the raw mode of our own input
	failed error         // ours could not be given
}

// share starts the child in our session if it can get our terminal. Whoever
// shares our group in a pipeline needs the terminal as well, so it is given only
// where both ends are on it.
func (r *run) share(sp *sys.Spec) {
	out, ok := r.o.Stdout.(*os.File)
	if ok && sys.OurTerminal(r.o.Stdin) && sys.OurTerminal(out) {
		sp.Session = sys.SessionShared
		r.screen.shared = true
	}
}

// ownTerminal makes a terminal for the child.
func (r *run) ownTerminal(sp *sys.Spec) ([]job.Output, []*os.File, error) {
	t, err := sys.OpenTerminal()
	if err != nil {
		return nil, nil, err
	}
	r.screen.own = t
	sp.Session = sys.SessionTerminal
	sp.Stdio = [3]*os.File{t.Child, t.Child, t.Child}
	if r.o.RawInput != nil {
		_ = t.SizeFrom(r.o.Stdin) // Best effort: a terminal without a size works.
		// Before the child says a word: who has read one may type.
		if r.screen.raw, err = r.o.RawInput(); err != nil {
			return nil, []*os.File{t.Child}, fmt.Errorf("make the terminal raw: %w", err)
		}
	}
	out := r.channels()[0]
	return []job.Output{{Reader: t.Output, Tap: out.take}}, []*os.File{t.Child}, nil
}

// enter gives the child what it may have of the terminal.
func (s *screen) enter(r *run, j *job.Job) (err error) {
	if s.shared {
		s.apart = !sys.InOurSession(j.Leader())
		s.take, err = sys.Foreground(r.o.Stdin, j.Leader())
		return err
	}
	if s.own == nil {
		return nil
	}
	in := io.Reader(nil)
	switch {
	case r.input != nil:
		in = r.input
	case r.o.RawInput != nil, r.o.Input == InputInherit && r.o.Stdin != nil:
		in = sys.NewCommonFile(r.o.Stdin)
	}
	go s.relay(in, r.o.RawInput == nil || r.input != nil)
	return nil
}

// endOfInput is the character that ends the input of a terminal in its usual
// mode (VEOF).
const endOfInput = 0x04

// relay types what is read, and then the end of input where in has one.
func (s *screen) relay(in io.Reader, ends bool) {
	t := &typist{to: s.own}
	if in != nil {
		_, _ = io.Copy(t, in) // Best effort: the child may have ended.
	}
	if !ends {
		return
	}
	if t.last != '\n' && t.last != 0 {
		_, _ = t.Write([]byte{endOfInput}) // hands on the unfinished line
	}
	_, _ = t.Write([]byte{endOfInput})
}

// typist remembers what was typed last.
type typist struct {
	to   io.Writer
	last byte
}

func (t *typist) Write(b []byte) (int, error) {
	if len(b) > 0 {
		t.last = b[len(b)-1]
	}
	return t.to.Write(b)
}

// leave takes the terminal back and ends its raw mode.
func (s *screen) leave(r *run) {
	for _, undo := range []func() error{s.take, s.raw} {
		if undo == nil {
			continue
		}
		if err := undo(); err != nil {
			r.warn("%v", err)
		}
	}
}
