package systest

import (
	"fmt"
	"os"
	"strings"
)

// openFiles counts the open descriptors by what they refer to. The runtime's
// own (its poller), /proc with its loadavg, and the mount of the control groups
// appear at some time and stay.
func openFiles() map[string]int {
	out := map[string]int{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(to, "anon_inode:[event") || to == "/proc" || to == "/proc/loadavg" || to == mountOfGroups() {
			continue
		}
		if kind, _, ok := strings.Cut(to, ":["); ok {
			to = kind // pipes and the like have a new number each
		}
		out[to]++
	}
	return out
}

// childLeaks lists the children that were not reaped.
func childLeaks() []string {
	var out []string
	threads, _ := os.ReadDir("/proc/self/task")
	for _, th := range threads {
		b, _ := os.ReadFile("/proc/self/task/" + th.Name() + "/children")
		for _, pid := range strings.Fields(string(b)) {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			out = append(out, fmt.Sprintf("child: %s %s", pid, strings.TrimSpace(string(name))))
		}
	}
	return out
}

// groupLeaks lists what is left below the control group that Parent made, and
// removes it when nothing is.
func groupLeaks() []string {
	parent := parentIfMade()
	if parent == "" {
		return nil
	}
	var out []string
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, "control group: "+parent+"/"+e.Name())
		}
	}
	if len(out) == 0 {
		if err := os.Remove(parent); err != nil && !os.IsNotExist(err) {
			out = append(out, "control group: "+err.Error())
		}
	}
	return out
}
