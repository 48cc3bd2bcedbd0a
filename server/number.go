package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/belfry-dev/belfry/job"
)

// number reads a finite number; ok is false when it is absent or refused.
func (a *args) number(name string) (f float64, ok bool) {
	raw, ok := a.numeral(name, "a number")
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(raw)), 64)
	if err != nil {
		a.refuse(name, "must be a finite number, not %s", quoted(string(raw)))
		return 0, false
	}
	return f, true
}

// integer reads a number without a fraction, however it is written: 3, 3.0 and
// 30e-1 are the same. What lies beyond the range of an int64 counts as its
// end.
func (a *args) integer(name string, least int64) (n int64, ok bool) {
	raw, ok := a.numeral(name, "an integer")
	if !ok {
		return 0, false
	}
	n, ok = wholeNumber(bytes.TrimSpace(raw))
	if !ok {
		a.refuse(name, "must be an integer, not %s", quoted(string(raw)))
		return 0, false
	}
	if n < least {
		a.refuse(name, "must be an integer of at least %d, not %s", least, quoted(string(raw)))
		return 0, false
	}
	return n, true
}

// numeral is a number as it is written; ok is false when it is absent or refused.
func (a *args) numeral(name, want string) (raw json.RawMessage, ok bool) {
	raw, there := a.members.get(name)
	if there && !isType(raw, "a number") {
		a.wrong(name, want, raw)
		return nil, false
	}
	return raw, there
}

func wholeNumber(raw json.RawMessage) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil, f != math.Trunc(f):
		return 0, false
	case f >= math.MaxInt64:
		return math.MaxInt64, true
	case f <= math.MinInt64:
		return math.MinInt64, true
	}
	return int64(f), true
}

// count is integer for what is a number of things; def when absent.
func (a *args) count(name string, least int64, def int) int {
	n, ok := a.integer(name, least)
	if !ok {
		return def
	}
	return int(min(n, math.MaxInt32))
}

// cursor reads the seq of a line; ok is false when it is absent or refused.
func (a *args) cursor(name string) (seq uint64, ok bool) {
	n, ok := a.integer(name, 0)
	return uint64(n), ok
}

// budget reads max_bytes. No integer is refused: package job clamps, and takes
// 0 for absent.
func (a *args) budget() int {
	n, ok := a.integer("max_bytes", math.MinInt64)
	if !ok {
		return job.DefaultBudget
	}
	return int(min(max(n, job.MinBudget), job.MaxBudget))
}

// span reads a number of milliseconds, which may have a fraction, from 0 to
// job.MaxDeadline; zero says whether 0 itself is allowed. nil when absent.
func (a *args) span(name string, zero bool) *time.Duration {
	f, ok := a.number(name)
	if !ok {
		return nil
	}
	most := float64(job.MaxDeadline.Milliseconds())
	if f < 0 || f > most || f == 0 && !zero {
		rule := "above 0"
		if zero {
			rule = "at least 0"
		}
		a.refuse(name, "must be a number of milliseconds %s and at most %.0f", rule, most)
		return nil
	}
	d := time.Duration(f * float64(time.Millisecond))
	if f > 0 {
		d = max(d, 1) // less than a nanosecond is not none
	}
	return &d
}
