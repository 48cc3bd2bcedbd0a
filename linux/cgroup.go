package linux

import (
	"bytes"
	"path"
	"strconv"
	"strings"
)

// Mount is a cgroup v2 file system as /proc/self/mountinfo shows it.
type Mount struct {
	Root  string // directory of the hierarchy that is mounted
	Point string // where
}

// ParseCgroup2Mounts picks the cgroup v2 mounts out of a mountinfo file. A
// machine whose controllers are on v1 often has one beside them.
func ParseCgroup2Mounts(mountinfo []byte) []Mount {
	var out []Mount
	for line := range bytes.Lines(mountinfo) {
		// id parent dev root point options [optional...] - type source super
		before, after, ok := strings.Cut(string(line), " - ")
		if !ok {
			continue
		}
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 6 || len(right) < 1 || right[0] != "cgroup2" {
			continue
		}
		out = append(out, Mount{Root: unescapeMount(left[3]), Point: unescapeMount(left[4])})
	}
	return out
}

// unescapeMount undoes the octal escapes of space, tab, newline and backslash.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ParseCgroupPath picks the v2 path ("0::/path") out of a /proc/pid/cgroup file.
func ParseCgroupPath(b []byte) (string, bool) {
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("0::")); ok {
			return strings.TrimSuffix(string(rest), "\n"), true
		}
	}
	return "", false
}

// CgroupDir is where a group's directory is found, by the first mount that
// shows it.
func CgroupDir(mounts []Mount, group string) (string, bool) {
	for _, m := range mounts {
		if m.Root == "/" {
			return path.Join(m.Point, group), true
		}
		if rest, ok := strings.CutPrefix(group, m.Root); ok && (rest == "" || rest[0] == '/') {
			return path.Join(m.Point, rest), true
		}
	}
	return "", false
}

// FlatValue reads one "key value" line of a flat keyed cgroup file.
func FlatValue(b []byte, key string) (uint64, bool) {
	for line := range bytes.Lines(b) {
		k, v, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if ok && string(k) == key {
			n, err := strconv.ParseUint(string(v), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// parsePIDs reads a cgroup.procs file. A process that our pid namespace does
// not show is a 0 there and is left out.
func parsePIDs(b []byte) []int {
	var out []int
	for _, f := range bytes.Fields(b) {
		if n, err := strconv.Atoi(string(f)); err == nil && n > 0 {
			out = append(out, n)
		}
	}
	return out
}
