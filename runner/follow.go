package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/belfry-dev/belfry/sys"
)

// afterwards is how long a stream without a writer is followed on: a run may
// be about to take it.
const afterwards = 500 * time.Millisecond

// ErrNoRunnerExit is returned by FollowEvents for a stream whose writer is gone and
// whose last line is no valid runner_exit.
var ErrNoRunnerExit = errors.New("the run is over and its stream has no runner_exit")

var (
	errFollowed  = errors.New("followed to the end")
	errTruncated = errors.New("the stream was emptied while it was followed: another run writes to it")
)

// ReadEvents calls each for every line of the stream at path.
func ReadEvents(path string, each func(Line) error) error {
	f, err := openEvents(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var lines Lines
	b := make([]byte, 64<<10)
	for {
		n, err := f.Read(b)
		if err := lines.Feed(b[:n], each); err != nil {
			return err
		}
		if err == io.EOF {
			return lines.End(each)
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
	}
}

func openEvents(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open events: %w", err)
	}
	return f, nil
}

// FollowEvents calls each for every line of the stream at path as it is
// written, until a valid runner_exit. It wakes when the file changes and when
// its writer, which holds a lock on it, is gone; half a second later the end is
// ErrNoRunnerExit.
func FollowEvents(ctx context.Context, path string, each func(Line) error) error {
	f, err := openEvents(path)
	if err != nil {
		return err
	}
	defer f.Close()
	watch, err := sys.WatchFile(path) // before the first read: nothing is missed
	if err != nil {
		return fmt.Errorf("follow events: %w", err)
	}
	defer watch.Close()
	t := &tail{f: f, each: each}
	for {
		over := t.writerGone()
		for {
			err := t.read()
			switch {
			case errors.Is(err, errFollowed):
				return nil
			case err != nil:
				return err
			}
			wait := over
			var late <-chan time.Time
			if closed(over) {
				wait, late = nil, time.After(afterwards)
			}
			select {
			case <-watch.Changed():
				continue
			case <-wait:
				continue // what was written last is read once more
			case <-late:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			break
		}
		if closed(t.writerGone()) {
			return t.end()
		}
	}
}

// tail is a stream that is read as far as it goes.
type tail struct {
	f     *os.File
	at    int64
	lines Lines
	each  func(Line) error
	buf   [64 << 10]byte
}

// read takes what was written since; errFollowed after runner_exit.
func (t *tail) read() error {
	for {
		n, err := t.f.Read(t.buf[:])
		t.at += int64(n)
		if err := t.lines.Feed(t.buf[:n], t.line); err != nil {
			return err
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("read events: %w", err)
		}
		if n == 0 {
			break
		}
	}
	fi, err := t.f.Stat()
	if err == nil && fi.Mode().IsRegular() && fi.Size() < t.at {
		err = errTruncated
	}
	return err
}

func (t *tail) line(l Line) error {
	if err := t.each(l); err != nil {
		return err
	}
	if _, exit := exitOf(l.Data); exit && !l.Long {
		return errFollowed
	}
	return nil
}

// end tells of a rest without newline, and that there was no runner_exit.
func (t *tail) end() error {
	if err := t.lines.End(t.each); err != nil {
		return err
	}
	return ErrNoRunnerExit
}

// writerGone is closed when nobody holds the stream's lock. The wait cannot be
// given up: it is left behind, with its thread, while the writer lives.
func (t *tail) writerGone() <-chan struct{} {
	gone := make(chan struct{})
	l, err := sys.OpenLock(t.f.Name())
	if err != nil {
		close(gone) // no regular file, or no file any more
		return gone
	}
	if free, err := l.TryShared(); free || err != nil {
		l.Close()
		close(gone)
		return gone
	}
	go func() {
		defer l.Close()
		// Best effort: what cannot be waited for is asked again after a while.
		l.WaitShared()
		close(gone)
	}()
	return gone
}
