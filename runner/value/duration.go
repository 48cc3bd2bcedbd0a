package value

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var (
	errDuration = errors.New("a duration is a whole number with ms, s, m or h behind it, or none for seconds: 500ms, 30, 5m")
	errTooLong  = errors.New("the duration is too long: it must fit 64 bits of milliseconds")
	errZero     = errors.New("the duration must be longer than zero")
)

// Duration reads decimal digits with an optional unit ms, s, m or h; none means
// seconds. There is no sign, fraction or space. What has more milliseconds than
// fit 64 bits is an error; what is longer than a time.Duration holds (292 years)
// is the longest of those.
func Duration(s string) (time.Duration, error) {
	digits := strings.TrimRight(s, "msh")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, errDuration
	}
	var unit uint64 // milliseconds
	switch s[len(digits):] {
	case "ms":
		unit = 1
	case "", "s":
		unit = 1000
	case "m":
		unit = 60_000
	case "h":
		unit = 3_600_000
	default:
		return 0, errDuration
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n > math.MaxUint64/unit {
		return 0, errTooLong
	}
	return time.Duration(min(n*unit, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond, nil
}

// PositiveDuration is Duration without zero.
func PositiveDuration(s string) (time.Duration, error) {
	d, err := Duration(s)
	if err == nil && d == 0 {
		err = errZero
	}
	return d, err
}

// FormatDuration is how messages tell a duration: 5s when it is whole seconds,
// else 1500ms, and zero as 0ms.
func FormatDuration(d time.Duration) string {
	ms := d.Milliseconds()
	if ms != 0 && ms%1000 == 0 {
		return strconv.FormatInt(ms/1000, 10) + "s"
	}
	return strconv.FormatInt(ms, 10) + "ms"
}
