package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/belfry-dev/belfry/sys"
)

// window is how much of a stream's beginning and of its end is read to find out
// how its run ended, in bytes.
const window = 64 << 10

var (
	errNotItsStream = errors.New("the stream does not begin with this run's run_started")
	errNoEnd        = errors.New("the stream does not end with runner_exit")
)

// ReadOutcome reads from the stream at path how the run of that id ended: its
// first line must be that run's run_started, within 64 KiB, and among the last
// 64 KiB must be its runner_exit.
func ReadOutcome(path, runID string) (RunnerExit, error) {
	f, err := sys.OpenShared(path)
	if err != nil {
		return RunnerExit{}, fmt.Errorf("read outcome: %w", err)
	}
	defer f.Close()
	head := make([]byte, window)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return RunnerExit{}, fmt.Errorf("read outcome: %w", err)
	}
	if !begins(head[:n], runID) {
		return RunnerExit{}, fmt.Errorf("read outcome: %w", errNotItsStream)
	}
	tail, err := tailOf(f)
	if err != nil {
		return RunnerExit{}, fmt.Errorf("read outcome: %w", err)
	}
	exit, ok := lastExit(tail)
	if !ok {
		return RunnerExit{}, fmt.Errorf("read outcome: %w", errNoEnd)
	}
	return exit, nil
}

// tailOf is the end of a file from a line's beginning.
func tailOf(f *os.File) ([]byte, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// One byte more tells whether the window begins with a whole line.
	from := max(fi.Size()-window-1, 0)
	b := make([]byte, fi.Size()-from)
	n, err := f.ReadAt(b, from)
	if err != nil && err != io.EOF {
		return nil, err
	}
	b = b[:n]
	if from > 0 {
		i := bytes.IndexByte(b, '\n')
		b = b[i+1:] // all of it, with no newline at all: then it holds no line's end
	}
	return b, nil
}

// begins reports whether the first line of a stream is the run_started of a run.
func begins(head []byte, runID string) bool {
	line, _, whole := bytes.Cut(head, []byte{'\n'})
	if !whole || Validate(line) != nil {
		return false
	}
	var e struct {
		Event Name   `json:"event"`
		RunID string `json:"run_id"`
	}
	return json.Unmarshal(line, &e) == nil && e.Event == EventRunStarted && e.RunID == runID
}

// lastExit finds the last complete line that is a valid runner_exit.
func lastExit(tail []byte) (RunnerExit, bool) {
	end := bytes.LastIndexByte(tail, '\n')
	if end < 0 {
		return RunnerExit{}, false
	}
	tail = tail[:end]
	for {
		start := bytes.LastIndexByte(tail, '\n') + 1
		if e, ok := exitOf(tail[start:]); ok {
			return e, true
		}
		if start == 0 {
			return RunnerExit{}, false
		}
		tail = tail[:start-1]
	}
}

// exitOf is the runner_exit that a line is, if it is a valid one.
func exitOf(line []byte) (RunnerExit, bool) {
	if !bytes.Contains(line, []byte(EventRunnerExit)) || Validate(line) != nil {
		return RunnerExit{}, false
	}
	var e struct {
		Event Name `json:"event"`
		RunnerExit
	}
	if json.Unmarshal(line, &e) != nil || e.Event != EventRunnerExit {
		return RunnerExit{}, false
	}
	return e.RunnerExit, true
}
