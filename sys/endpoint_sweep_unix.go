//go:build unix

package sys

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tempShaped reports whether a directory has a name that tempDir makes, and in
// which process.
func tempShaped(name string) (pid int, ok bool) {
	token := strings.Split(name, "-")
	if len(token) != 4 || !strings.HasPrefix(name, tempPrefix) || len(token[2]) != 12 || len(token[3]) != 12 {
		return 0, false
	}
	pid, err := strconv.Atoi(token[1])
	return pid, err == nil && pid > 0
}

func sweepTempEndpoints(age time.Duration) {
	for _, base := range tempDirs() {
		entries, _ := os.ReadDir(base) // Best effort: the next sweep looks again.
		for _, d := range entries {
			pid, ok := tempShaped(d.Name())
			if !ok {
				continue
			}
			name := base + "/" + d.Name() + "/" + tempSocket
			if fi, err := d.Info(); err == nil && time.Since(fi.ModTime()) >= age && deserted(name, pid) {
				_ = removeTempEndpoint(name) // Best effort, as above; it removes nothing of others.
			}
		}
	}
}

// deserted reports whether it is certain that nobody listens, nor will. Who is
// stopped, or has too many callers, does listen: Linux has one caller more wait,
// the others refuse him, so there the process must be gone, too.
func deserted(name string, pid int) bool {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: name})
	if err == nil {
		c.Close()
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return runtime.GOOS == "linux" || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	return errors.Is(err, syscall.ENOENT)
}
