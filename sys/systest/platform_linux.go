package systest

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// childPath starts this binary again even where its directory is closed to the
// user.
func childPath() string { return "/proc/self/exe" }

func listFDs() int {
	d, err := syscall.Open("/proc/self/fd", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return status(err)
	}
	buf := make([]byte, 16<<10)
	n, err := syscall.ReadDirent(d, buf)
	if err != nil {
		return status(err)
	}
	_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
	var fds []int
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd == d {
			continue
		}
		// What the runtime opened for itself was not inherited: its poller, and
		// the processor limit of its control group (Go 1.25).
		to, _ := os.Readlink("/proc/self/fd/" + name)
		if strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/sys/fs/cgroup/") {
			continue
		}
		fds = append(fds, fd)
	}
	sort.Ints(fds)
	fmt.Fprintln(os.Stdout, fds)
	return 0
}

// Found is a live process that Survivors met.
type Found struct {
	PID     int
	Command string // its arguments, separated by spaces
}

// Survivors lists the live processes whose environment holds token, this
// process excluded. A tree started with TOKEN=random in its environment is
// found by it wherever it went.
func Survivors(token string) []Found {
	var out []Found
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil || !bytes.Contains(env, []byte(token)) {
			continue
		}
		args, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		out = append(out, Found{PID: pid, Command: string(bytes.ReplaceAll(bytes.TrimRight(args, "\x00"), []byte{0}, []byte{' '}))})
	}
	return out
}
