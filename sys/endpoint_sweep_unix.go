//go:build unix

package sys

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// tempShaped reports whether a directory has a name that tempDir makes.
func tempShaped(name string) bool {
	token := strings.Split(name, "-")
	return len(token) == 4 && strings.HasPrefix(name, tempPrefix) && len(token[2]) == 12 && len(token[3]) == 12
}

func sweepTempEndpoints(age time.Duration) {
	for _, base := range tempDirs() {
		entries, _ := os.ReadDir(base) // Best effort: the next sweep looks again.
		for _, d := range entries {
			if !tempShaped(d.Name()) {
				continue
			}
			name := base + "/" + d.Name() + "/" + tempSocket
			if fi, err := d.Info(); err == nil && time.Since(fi.ModTime()) >= age && deserted(name) {
				_ = removeTempEndpoint(name) // Best effort, as above; it removes nothing of others.
			}
		}
	}
}

// deserted reports whether it is certain that nobody listens, nor will. Who is
// stopped, or has too many callers, does listen.
func deserted(name string) bool {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: name})
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}
