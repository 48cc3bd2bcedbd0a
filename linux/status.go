package linux

import (
	"bytes"
	"math"
	"strconv"
)

// StatusBytes reads one "Key:   123 kB" line of /proc/pid/status, in bytes.
// False: there is no such line (a zombie has no memory), or it is none of that
// form.
func StatusBytes(b []byte, key string) (int64, bool) {
	for line := range bytes.Lines(b) {
		k, v, ok := bytes.Cut(line, []byte(":"))
		if !ok || string(k) != key {
			continue
		}
		fields := bytes.Fields(v)
		if len(fields) != 2 || string(fields[1]) != "kB" {
			return 0, false
		}
		n, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/1024 {
			return 0, false
		}
		return n * 1024, true
	}
	return 0, false
}
