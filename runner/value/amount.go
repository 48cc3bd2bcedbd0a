package value

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Size reads a number of bytes, 1 or more: decimal digits with an optional unit
// b, k, m or g in either case, which are powers of 1024.
func Size(s string) (int64, error) {
	digits := strings.TrimRight(s, "bkmgBKMG")
	shift, known := map[string]int{"": 0, "b": 0, "k": 10, "m": 20, "g": 30}[strings.ToLower(s[len(digits):])]
	if !known || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, errors.New("a size is a whole number with b, k, m or g behind it, or none for bytes: 4096, 64k, 2g")
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case err != nil || n > math.MaxInt64>>shift:
		return 0, errors.New("the size is too large: it must fit 63 bits of bytes")
	case n == 0:
		return 0, errors.New("a size is at least 1 byte")
	}
	return int64(n << shift), nil
}

// Count reads a number of processes: 1 to 4294967295.
func Count(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == 0 || strings.Trim(s, "0123456789") != "" {
		return 0, errors.New("a number of processes is 1 to 4294967295")
	}
	return uint32(n), nil
}

// CPUs reads a number of cores: a decimal number above zero.
func CPUs(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "0123456789.eE+-") != "" || math.IsInf(f, 0) || f <= 0 {
		return 0, errors.New("a number of cores is a decimal number above zero: 0.5, 2")
	}
	return f, nil
}

// Band reads a range of exit codes START-END, both 0 to 255.
func Band(s string) (start, end uint8, err error) {
	a, b, ok := strings.Cut(s, "-")
	lo, err1 := strconv.ParseUint(a, 10, 8)
	hi, err2 := strconv.ParseUint(b, 10, 8)
	if !ok || err1 != nil || err2 != nil || lo > hi || strings.Trim(a+b, "0123456789") != "" {
		return 0, 0, errors.New("a band of exit codes is START-END, both 0 to 255 and the first not above the second: 100-119")
	}
	return uint8(lo), uint8(hi), nil
}
