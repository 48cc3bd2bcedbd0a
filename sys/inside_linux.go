package sys

import (
	"bytes"
	"encoding/hex"
	"os"
	"strconv"
	"strings"

	"github.com/belfry-dev/belfry/linux"
)

func insideTree() bool {
	if b, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		if group, ok := linux.ParseCgroupPath(b); ok && inContainer(group) {
			return true
		}
	}
	return helperAbove(os.Getppid())
}

// inContainer reports whether a control group lies below one that a host has
// made; the host's own directory is no tree.
func inContainer(group string) bool {
	parts := strings.Split(group, "/")
	for _, name := range parts[:max(len(parts)-1, 0)] {
		random, ours := strings.CutPrefix(name, containerPrefix)
		if b, err := hex.DecodeString(random); ours && err == nil && len(b) == 8 {
			return true
		}
	}
	return false
}

// maxAncestors bounds the walk: a number may be given out again under it.
const maxAncestors = 64

// helperAbove reports whether one of our helpers is among the ancestors.
func helperAbove(pid int) bool {
	for range maxAncestors {
		if pid <= 1 {
			return false
		}
		argv, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err != nil {
			return false
		}
		if name, _, _ := bytes.Cut(argv, []byte{0}); string(name) == helperName {
			return true
		}
		st, err := linux.ReadStat("/proc", pid)
		if err != nil {
			return false
		}
		pid = st.PPID
	}
	return false
}
