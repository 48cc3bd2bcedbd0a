package main

import (
	"github.com/belfry-dev/belfry/ring"
	"github.com/belfry-dev/belfry/runner/control"
)

// resumption makes one telling of a job's output of several, each from the
// beginning of what is kept: every line has the number that it always had.
type resumption struct {
	last  uint64    // number of the newest line that was told
	seen  [2]uint64 // lines of each stream that were told, or told to be missing
	later bool      // this is not the first telling
	at    [2]uint64 // lines of each stream that a later telling has been through
}

// again begins another telling.
func (r *resumption) again() { r.later, r.at = true, [2]uint64{} }

// said takes what is told. It gives what is to be told before it, and whether it
// is to be told itself.
func (r *resumption) said(x *control.Said) (before []control.Said, tell bool) {
	k := 0
	if x.Stream == ring.Stderr.String() {
		k = 1
	}
	switch {
	case x.Dropped > 0 && r.later:
		r.at[k] += x.Dropped
		return nil, false
	case x.Dropped > 0:
		r.seen[k] += x.Dropped
		return nil, true
	case x.Seq == 0: // text that waits for its newline
		return nil, true
	case x.Seq <= r.last:
		r.at[k]++
		return nil, false
	}
	if r.later {
		r.later = false
		before = r.missing(x.Seq - r.last - 1)
	}
	r.seen[k]++
	r.last = x.Seq
	return before, true
}

// missing tells what nobody has told between two lines with so many numbers
// between them.
func (r *resumption) missing(gap uint64) (out []control.Said) {
	for k, at := range r.at {
		if n := min(at-min(at, r.seen[k]), gap); n > 0 {
			r.seen[k] += n
			out = append(out, control.Said{Stream: ring.Kind(k).String(), Dropped: n})
		}
	}
	return out
}
