package detach

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/belfry-dev/belfry/job"
)

// frameKind is the first byte of a frame.
type frameKind byte

// The frames of a journal. A file begins with frameFormat, frameSaved and
// frameRecord; a later one of the same job repeats with these what went before.
const (
	frameFormat    frameKind = 'v' // "1"
	frameSaved     frameKind = 's' // job.SaveOutput
	frameRecord    frameKind = 'r' // job.Snapshot in JSON
	frameOut       frameKind = 'o' // bytes of stdout
	frameErr       frameKind = 'e' // bytes of stderr
	frameFinishOut frameKind = 'O' // the rest of stdout is a line
	frameFinishErr frameKind = 'E' // the rest of stderr is a line
	frameNext      frameKind = 'n' // goes on in the next file
	frameEnd       frameKind = 'z' // nothing follows
)

// format is the version of journals: it changes when an older belfry could not
// read a newer one's. Unknown kinds of frames are passed over.
const format = "1"

// maxFrame bounds a frame, in bytes: what a ring keeps fits four times.
const maxFrame = 32 << 20

var errFrame = errors.New("the journal is damaged")

// frame is one entry of a journal.
type frame struct {
	kind frameKind
	at   time.Time
	body []byte
}

// appendFrame adds the bytes of a frame: its kind, the time in nanoseconds since
// 1970, the length, the body.
func appendFrame(b []byte, f frame) []byte {
	b = append(b, byte(f.kind))
	b = binary.AppendUvarint(b, uint64(f.at.UnixNano()))
	b = binary.AppendUvarint(b, uint64(len(f.body)))
	return append(b, f.body...)
}

// parseFrame reads the first frame of b and tells how many bytes it has; 0 when
// it is not all there yet.
func parseFrame(b []byte) (f frame, n int, err error) {
	if len(b) == 0 {
		return frame{}, 0, nil
	}
	f.kind, n = frameKind(b[0]), 1
	at, k := binary.Uvarint(b[n:])
	if k <= 0 {
		return frame{}, 0, shortOrBad(k)
	}
	n += k
	size, k := binary.Uvarint(b[n:])
	if k <= 0 {
		return frame{}, 0, shortOrBad(k)
	}
	n += k
	switch {
	case size > maxFrame:
		return frame{}, 0, errFrame
	case uint64(len(b)-n) < size:
		return frame{}, 0, nil
	}
	f.at = time.Unix(0, int64(at))
	f.body = b[n : n+int(size)]
	return f, n + int(size), nil
}

func shortOrBad(k int) error {
	if k < 0 {
		return errFrame
	}
	return nil
}

func outputFrame(k job.Kind) frameKind {
	if k == job.Stderr {
		return frameErr
	}
	return frameOut
}

func finishFrame(k job.Kind) frameKind {
	if k == job.Stderr {
		return frameFinishErr
	}
	return frameFinishOut
}
