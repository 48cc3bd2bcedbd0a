package linux

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Controller1 tells whether a /proc/pid/cgroup file shows a controller on a
// cgroup v1 hierarchy, where a v2 group cannot have it.
func Controller1(procCgroup []byte, controller string) bool {
	for line := range bytes.Lines(procCgroup) {
		// hierarchy:controller,controller:path
		f := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(f) == 3 && f[0] != "0" && slices.Contains(strings.Split(f[1], ","), controller) {
			return true
		}
	}
	return false
}

// unitSuffixes end the names of the directories that systemd makes for units
// with processes.
var unitSuffixes = []string{".service", ".scope", ".slice", ".mount", ".socket", ".swap"}

// UnitOf is the nearest directory at or above a group's that is named like a
// systemd unit, "" when there is none.
func UnitOf(dir string) string {
	for ; dir != "/" && dir != "."; dir = path.Dir(dir) {
		if slices.ContainsFunc(unitSuffixes, func(s string) bool { return strings.HasSuffix(dir, s) }) {
			return dir
		}
	}
	return ""
}

// ParseCPUMax reads a cpu.max file ("quota period", microseconds, or "max
// period") as processors; 0 is no limit.
func ParseCPUMax(text string) (cpus float64, ok bool) {
	f := strings.Fields(text)
	if len(f) != 2 {
		return 0, false
	}
	period, err := strconv.ParseUint(f[1], 10, 63)
	if err != nil || period == 0 {
		return 0, false
	}
	if f[0] == "max" {
		return 0, true
	}
	quota, err := strconv.ParseUint(f[0], 10, 63)
	if err != nil {
		return 0, false
	}
	return float64(quota) / float64(period), true
}

// parseAllPIDs reads a cgroup.procs file; hidden is how many processes our pid
// namespace does not show.
func parseAllPIDs(b []byte) (pids []int, hidden int) {
	pids = parsePIDs(b)
	return pids, len(bytes.Fields(b)) - len(pids)
}
